//! A typical tree: many small files, a few large ones, and special cases that copies often miss.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The number of directories, without the special cases.
const DIRECTORIES: u64 = 40;
const FILES: u64 = 400;
/// File sizes range from 1 byte to 2 to the power of this, with equal shares for each power of two.
const MAX_SIZE_BITS: u64 = 21;
/// The size of the large file.
const LARGE_BYTES: u64 = 32 << 20;
/// The size of the sparse file.
const SPARSE_BYTES: u64 = 128 << 20;

/// Creates the tree at `top`, which must not exist; it is always the same.
///
/// # Errors
/// Those of the system.
pub fn generate(top: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::Local { path: top.to_owned(), source };
    Generator { random: 1, directories: vec![top.to_owned()] }.run(top).map_err(failed)
}

struct Generator {
    random: u64,
    directories: Vec<PathBuf>,
}

impl Generator {
    fn run(&mut self, top: &Path) -> io::Result<()> {
        fs::create_dir(top)?;
        for number in 0..DIRECTORIES {
            let dir = self.any_directory().join(format!("dir-{number}"));
            fs::create_dir(&dir)?;
            self.directories.push(dir);
        }
        for number in 0..FILES {
            let path = self.any_directory().join(format!("file-{number}.dat"));
            let bits = self.below(MAX_SIZE_BITS);
            let size = 1 + self.below(1 << bits);
            self.fill(&path, size)?;
            fs::set_permissions(&path, Permissions::from_mode([0o644, 0o600, 0o755, 0o444][number as usize % 4]))?;
        }
        self.fill(&top.join("large.bin"), LARGE_BYTES)?;
        self.odd_ones(top)
    }

    /// Creates the special cases.
    fn odd_ones(&mut self, top: &Path) -> io::Result<()> {
        let odd = top.join("odd");
        fs::create_dir(&odd)?;
        File::create(odd.join("empty"))?;
        let sparse = File::create(odd.join("sparse"))?;
        sparse.set_len(SPARSE_BYTES)?;
        sparse.write_all_at(b"in the middle of nothing", SPARSE_BYTES / 2)?;
        self.fill(&odd.join("n".repeat(255)), 100)?;
        self.fill(&odd.join(OsStr::from_bytes(b"not utf-8 \xff\xfe")), 100)?;
        self.fill(&odd.join("line\nbreak and \"quotes\""), 100)?;
        fs::hard_link(top.join("large.bin"), odd.join("second name"))?;
        symlink("../large.bin", odd.join("link"))?;
        symlink("nowhere/at/all", odd.join("dangling link"))?;
        fs::create_dir(odd.join("empty directory"))
    }

    fn any_directory(&mut self) -> PathBuf {
        let index = self.below(self.directories.len() as u64);
        self.directories[index as usize].clone()
    }

    fn fill(&mut self, path: &Path, size: u64) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(size as usize + 8);
        while (bytes.len() as u64) < size {
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(size as usize);
        fs::write(path, bytes)
    }

    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// SplitMix64: fast, and equal on all machines.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
