//! Where the comparison happens: a network, a process table and a few mounts of its own.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::options::{Export, INSIDE};
use crate::{Failure, Outcome, command};

/// The file that is read, and its size: it fits into memory with ease.
pub const READ_FILE: &str = "big";
pub const READ_FILE_BYTES: u64 = 256 << 20;
/// The size of each file that is written.
pub const WRITE_FILE_BYTES: u64 = 64 << 20;
/// How many files are written.
const WRITE_FILES: u32 = 8;
/// The files that connections read one each.
const OWN_FILES: u32 = 256;
pub const OWN_FILE_BYTES: u64 = 1 << 20;
/// The directory with many names, and how many.
pub const LARGE_DIRECTORY: &str = "d10k";
pub const NAMES: u32 = 10_000;
/// The directory in which files are made.
pub const EMPTY_DIRECTORY: &str = "cr";

/// How large a file system on a disk is.
const IMAGE_BYTES: u64 = 3 << 30;

/// The folders of a comparison.
pub struct Site {
    /// What is exported.
    pub export: PathBuf,
    /// Where servers keep their own things.
    pub state: PathBuf,
    /// Whether servers and load have a processor each.
    pub is_pinned: bool,
}

/// This command again, in namespaces of its own. What it starts dies with it.
pub fn enter(name: &str, arguments: &[String]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]);
    command.arg(command::this_program()).args([name, INSIDE]).args(arguments);
    command
}

impl Site {
    /// Brings the loopback up, puts memory over `/run`, makes the export, and fills it.
    pub fn set_up(root: &Path, export: Export) -> Outcome<Site> {
        let is_pinned = std::thread::available_parallelism().is_ok_and(|count| count.get() >= 2);
        // /run is one's own in here, so nothing that the machine uses is covered.
        let site = Site { export: "/run/export".into(), state: "/run/state".into(), is_pinned };
        set_up_network()?;
        for folder in ["/run/export", "/run/state"] {
            fs::create_dir_all(folder).map_err(|source| Failure::File { path: folder.into(), source })?;
        }
        match export {
            Export::Tmpfs => command::run(words("mount -t tmpfs -o size=3g tmpfs /run/export"))?,
            Export::Ext4 => mount_ext4(&command::target_folder(root).join("peers.ext4"), &site.export)?,
        }
        site.fill()?;
        // What is still to be written would be written while somebody is measured.
        command::run(words("sync -f /run/export"))?;
        Ok(site)
    }

    /// Makes the files and directories that the loads use, by the names that `nfsload` knows.
    fn fill(&self) -> Outcome {
        self.fill_file(READ_FILE, READ_FILE_BYTES)?;
        for number in 0..OWN_FILES {
            self.fill_file(&format!("f{number:03}"), OWN_FILE_BYTES)?;
        }
        for number in 0..WRITE_FILES {
            self.fill_file(&format!("w{number}"), WRITE_FILE_BYTES)?;
        }
        for name in [EMPTY_DIRECTORY, LARGE_DIRECTORY] {
            let path = self.export.join(name);
            fs::create_dir(&path).map_err(|source| Failure::File { path, source })?;
        }
        for number in 0..NAMES {
            let path = self.export.join(LARGE_DIRECTORY).join(format!("name{number:05}"));
            File::create(&path).map_err(|source| Failure::File { path, source })?;
        }
        Ok(())
    }

    fn fill_file(&self, name: &str, bytes: u64) -> Outcome {
        let path = self.export.join(name);
        let failed = |source| Failure::File { path: path.clone(), source };
        let mut file = File::create(&path).map_err(failed)?;
        // Numbers, so that no page is like another.
        let mut block = vec![0_u8; 1 << 20];
        for number in 0..bytes >> 20 {
            for (index, word) in block.chunks_exact_mut(8).enumerate() {
                word.copy_from_slice(&((number << 32) + index as u64).to_le_bytes());
            }
            file.write_all(&block).map_err(failed)?;
        }
        Ok(())
    }

    /// A command on the servers' processor.
    pub fn server_command(&self, program: &Path) -> Command {
        self.on_processor("0", program)
    }

    /// A command on the load's processor.
    pub fn load_command(&self, program: &Path) -> Command {
        self.on_processor("1", program)
    }

    fn on_processor(&self, processor: &str, program: &Path) -> Command {
        if !self.is_pinned {
            return Command::new(program);
        }
        let mut command = Command::new("taskset");
        command.args(["-c", processor]).arg(program);
        command
    }
}

/// Brings the loopback up, and puts memory over the folders where servers and rpcbind note things.
pub fn set_up_network() -> Outcome {
    command::run(words("ip link set lo up"))?;
    // A resolver that asks whether there is IPv4 at all does not count 127.0.0.1 (AI_ADDRCONFIG), and Ganesha's asks.
    command::run(words("ip address add 198.51.100.1/32 dev lo"))?;
    command::run(words("mount -t tmpfs tmpfs /run"))?;
    for folder in ["/run/rpcbind", "/run/ganesha"] {
        fs::create_dir_all(folder).map_err(|source| Failure::File { path: folder.into(), source })?;
    }
    // Ganesha notes its clients here, which are none of this machine's.
    if Path::new("/var/lib/nfs").is_dir() {
        command::run(words("mount -t tmpfs tmpfs /var/lib/nfs"))?;
    }
    Ok(())
}

/// Makes a file system in an image on a disk, and mounts it by a loop device, which keeps the image when its name is gone.
fn mount_ext4(image: &Path, folder: &Path) -> Outcome {
    let failed = |source| Failure::File { path: image.to_owned(), source };
    File::create(image).and_then(|file| file.set_len(IMAGE_BYTES)).map_err(failed)?;
    let mut make = Command::new("mkfs.ext4");
    make.args(["-q", "-F"]).arg(image);
    let mut mount = Command::new("mount");
    mount.args(["-o", "loop"]).args([image, folder]);
    let mounted = command::run(make).and_then(|()| command::run(mount));
    fs::remove_file(image).map_err(failed)?;
    mounted
}

fn words(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}
