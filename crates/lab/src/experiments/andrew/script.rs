use std::fmt;
use std::time::{Duration, Instant};

use client::{Detail, Dir, Mount, Options, Status, Url};
use fastrand::Rng;

/// What is done with the tree, in this order.
pub(super) const PHASES: [&str; 6] = ["directories", "copy", "stat", "read", "build", "remove"];

/// How large files are, in bytes: between a power of two of these and the next one, each power as often.
const SIZE_POWERS: std::ops::Range<u32> = 10..15;
/// How many files of each directory are headers, which each source includes.
const HEADERS: usize = 3;
/// What all sizes follow from: the tree is the same in each run.
const SEED: u64 = 1987;

/// A tree of sources, and what is done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    /// For each directory, how large its files are.
    directories: Vec<Vec<usize>>,
}

/// Why the script did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScriptError {
    #[error(transparent)]
    Client(#[from] client::Error),
    /// A file does not have what was written to it.
    #[error("{name} has {got} bytes, and {wanted} were written")]
    Size { name: String, got: usize, wanted: usize },
    /// A directory does not list what was made in it.
    #[error("{name} lists {got} files, and {wanted} were made")]
    Listing { name: String, got: usize, wanted: usize },
}

impl Script {
    /// A tree of so many directories with so many files each.
    pub(super) fn new(directories: usize, files: usize) -> Script {
        let mut random = Rng::with_seed(SEED);
        let mut size = || {
            let power = random.u32(SIZE_POWERS);
            random.usize(1 << power..2 << power)
        };
        Script { directories: (0..directories).map(|_| (0..files).map(|_| size()).collect()).collect() }
    }

    pub(super) fn files(&self) -> u32 {
        self.directories.iter().map(|files| files.len() as u32).sum()
    }

    fn bytes(&self) -> usize {
        self.directories.iter().flatten().sum()
    }

    /// Sources, objects, the program, and what servers keep.
    pub(super) fn space_bytes(&self) -> u64 {
        4 * self.bytes() as u64 + (32 << 20)
    }

    /// Does all phases in a new directory of this name; how long each took.
    pub(super) async fn run(&self, url: &Url, name: &str) -> Result<[Duration; PHASES.len()], ScriptError> {
        let options = Options { use_privileged_port: false, ..Options::default() };
        let mount = Mount::connect(url, &options).await?;
        let export = mount.open_dir(mount.path_below()).await?;
        let mut times = [Duration::ZERO; PHASES.len()];
        let mut began = Instant::now();
        let mut lap = |phase: usize| {
            let now = Instant::now();
            times[phase] = now - std::mem::replace(&mut began, now);
        };
        let tree = self.make_directories(&export, name).await?;
        lap(0);
        self.copy(&tree).await?;
        lap(1);
        self.stat(&tree).await?;
        lap(2);
        self.read(&tree).await?;
        lap(3);
        self.build(&tree).await?;
        lap(4);
        self.remove(&export, name, &tree).await?;
        lap(5);
        mount.unmount().await?;
        Ok(times)
    }

    async fn make_directories(&self, export: &Dir, name: &str) -> Result<Vec<Dir>, ScriptError> {
        // A pass that was interrupted and is done again finds its directory.
        let top = match export.create_dir(name, 0o755).await {
            Err(error) if error.status() == Some(Status::Exists) => export.open_dir(name).await?,
            made => made?,
        };
        let mut tree = Vec::new();
        for number in 0..self.directories.len() {
            tree.push(top.create_dir(directory_name(number), 0o755).await?);
        }
        Ok(tree)
    }

    async fn copy(&self, tree: &[Dir]) -> Result<(), ScriptError> {
        for (directory, sizes) in tree.iter().zip(&self.directories) {
            for (number, size) in sizes.iter().enumerate() {
                directory.write(source_name(number), contents(number, *size)).await?;
            }
        }
        Ok(())
    }

    /// Lists every directory and looks at every file, as `ls -l` and `du` do.
    async fn stat(&self, tree: &[Dir]) -> Result<(), ScriptError> {
        for (place, (directory, sizes)) in tree.iter().zip(&self.directories).enumerate() {
            let (mut entries, mut got) = (directory.read_dir(Detail::Entries), 0);
            while let Some(entry) = entries.next().await? {
                directory.metadata(&entry.name).await?;
                got += 1;
            }
            if got != sizes.len() {
                return Err(ScriptError::Listing { name: directory_name(place), got, wanted: sizes.len() });
            }
        }
        Ok(())
    }

    /// Reads every file, as `grep` and `wc` do.
    async fn read(&self, tree: &[Dir]) -> Result<(), ScriptError> {
        for (directory, sizes) in tree.iter().zip(&self.directories) {
            for (number, size) in sizes.iter().enumerate() {
                read_whole(directory, &source_name(number), *size).await?;
            }
        }
        Ok(())
    }

    /// Reads every source with its headers and writes an object as large, then reads all objects and writes a program.
    async fn build(&self, tree: &[Dir]) -> Result<(), ScriptError> {
        let mut program = Vec::new();
        for (directory, sizes) in tree.iter().zip(&self.directories) {
            for (number, size) in sizes.iter().enumerate().skip(HEADERS) {
                for (header, size) in sizes.iter().enumerate().take(HEADERS) {
                    read_whole(directory, &source_name(header), *size).await?;
                }
                let source = read_whole(directory, &source_name(number), *size).await?;
                directory.write(object_name(number), source).await?;
            }
        }
        for (directory, sizes) in tree.iter().zip(&self.directories) {
            for (number, size) in sizes.iter().enumerate().skip(HEADERS) {
                program.extend(read_whole(directory, &object_name(number), *size).await?);
            }
        }
        match tree.first() {
            Some(directory) => Ok(directory.write(PROGRAM, program).await?),
            None => Ok(()),
        }
    }

    async fn remove(&self, export: &Dir, name: &str, tree: &[Dir]) -> Result<(), ScriptError> {
        if let Some(directory) = tree.first() {
            directory.remove_file(PROGRAM).await?;
        }
        let top = export.open_dir(name).await?;
        for (place, (directory, sizes)) in tree.iter().zip(&self.directories).enumerate() {
            for number in 0..sizes.len() {
                directory.remove_file(source_name(number)).await?;
                if number >= HEADERS {
                    directory.remove_file(object_name(number)).await?;
                }
            }
            top.remove_dir(directory_name(place)).await?;
        }
        Ok(export.remove_dir(name).await?)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} directories, {} files, {} KiB", self.directories.len(), self.files(), self.bytes() >> 10)
    }
}

const PROGRAM: &str = "program";

fn directory_name(number: usize) -> String {
    format!("d{number:03}")
}

fn source_name(number: usize) -> String {
    format!("{}{number:03}.{}", if number < HEADERS { "h" } else { "s" }, if number < HEADERS { "h" } else { "c" })
}

fn object_name(number: usize) -> String {
    format!("s{number:03}.o")
}

fn contents(number: usize, size: usize) -> Vec<u8> {
    (number..number + size).map(|byte| byte as u8).collect()
}

async fn read_whole(directory: &Dir, name: &str, wanted: usize) -> Result<Vec<u8>, ScriptError> {
    let bytes = directory.read(name).await?;
    match bytes.len() == wanted {
        true => Ok(bytes),
        false => Err(ScriptError::Size { name: name.to_owned(), got: bytes.len(), wanted }),
    }
}
