//! A file system on a disk.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Model, NAME};
use crate::engine::Error;
use crate::scratch::{Parent, Scratch};
use crate::sys;
use crate::tool::{ToolError, run};
use crate::volume::{self, Volume, VolumeKind};

/// How long a disk may take until it is there.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What the file system keeps for itself is less.
const FILE_SYSTEM_BYTES: u64 = 16 << 20;

/// An ext4 on a disk, whose process ends with this.
#[derive(Debug)]
pub(crate) struct DiskVolume {
    // Each writes to those after it, or lies in them.
    volume: Volume,
    process: Process,
    _mounts: Scratch,
}

/// The process of a disk, and where its mount is.
#[derive(Debug)]
struct Process {
    child: Child,
    directory: PathBuf,
}

impl DiskVolume {
    /// Why there can be none here, if there can be none.
    pub(crate) fn missing() -> Option<String> {
        if !volume::is_permitted() {
            return Some("loop devices and mounts: run as root, where /dev/loop-control exists".to_owned());
        }
        if OpenOptions::new().read(true).write(true).open("/dev/fuse").is_err() {
            return Some("/dev/fuse, which cannot be opened: load the kernel's module `fuse`".to_owned());
        }
        VolumeKind::Ext4.missing()
    }

    /// Starts a disk, which `program` is, and makes an ext4 with room for so many bytes of files on it. Its mounts are
    /// in `memory`, and seen by this thread and its children only. Of several volumes, the last one has to end first:
    /// its disk's process has the mounts of those before it.
    pub(crate) fn new(
        program: &Path,
        memory: &Parent,
        (name, model): (&str, Model),
        bytes: u64,
    ) -> Result<DiskVolume, Error> {
        let mounts = Scratch::new(memory, name, 0)?;
        volume::hide_mounts()?;
        let [disk, files] = ["disk", "files"].map(|part| mounts.path().join(part));
        for directory in [&disk, &files] {
            fs::create_dir(directory).map_err(|source| Error::File { path: directory.clone(), source })?;
        }
        let process = Process::start(program, &disk, model, bytes + FILE_SYSTEM_BYTES)?;
        // The disk's process stays behind in a namespace without the ext4: if it had the last mount of that, its end
        // would wait for what is written back, and so for itself.
        volume::hide_mounts()?;
        Ok(DiskVolume { volume: Volume::on_disk(&disk.join(NAME), files)?, process, _mounts: mounts })
    }

    /// Where experiments make their files on it.
    pub(crate) fn parent(&self) -> Parent {
        Parent { path: self.volume.directory().to_owned(), flag: "--disk-dir" }
    }

    /// The disk's process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.child.id()
    }
}

fn failed(command: String, said: impl ToString) -> ToolError {
    ToolError::Failed { command, said: said.to_string() }
}

/// The log of a disk's process, beside its directory.
fn log(directory: &Path) -> PathBuf {
    directory.with_extension("log")
}

impl Process {
    fn start(program: &Path, directory: &Path, model: Model, size_bytes: u64) -> Result<Process, ToolError> {
        let mut command = Command::new(program);
        command.args(["lab", "disk"]).arg(directory);
        for (flag, value) in [
            ("--size", size_bytes),
            ("--positioning-us", model.positioning.as_micros() as u64),
            ("--bytes-per-second", model.bytes_per_second),
            ("--disks", model.disks.into()),
        ] {
            command.args([flag, &value.to_string()]);
        }
        let text = format!("{} lab disk {}", program.display(), directory.display());
        let log = log(directory);
        let file = File::create(&log).map_err(|error| failed(text.clone(), error))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        sys::end_with_parent(&mut command);
        let child = command.spawn().map_err(|error| failed(text.clone(), error))?;
        let mut process = Process { child, directory: directory.to_owned() };
        let began = Instant::now();
        while !directory.join(NAME).exists() {
            if began.elapsed() > START_TIMEOUT || !matches!(process.child.try_wait(), Ok(None)) {
                return Err(failed(text, fs::read_to_string(log).unwrap_or_default().trim()));
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = run("umount", &["--lazy", &self.directory.to_string_lossy()]);
    }
}
