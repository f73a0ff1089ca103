//! Exports that are mounted for as long as a load runs through them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::contender::Server;
use crate::leftovers::{Leftover, Made};
use crate::sys;
use crate::tool::{ToolError, run};
use crate::volume;

/// How long a mount may take to be there.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Who mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mounter {
    /// The kernel's NFS client.
    Kernel,
    /// `wharf mount`.
    Wharf,
}

/// Why an export is not mounted, or not unmounted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// A program of the system fails.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A file cannot be made or looked at.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The kernel or `wharf mount` refuses, or does not mount in time.
    #[error("`{command}` does not mount: {said}")]
    NotMounted {
        /// The whole command.
        command: String,
        /// What it said.
        said: String,
    },
}

impl Mounter {
    /// Whether it takes the port of MOUNT. mount.nfs refuses NFSv4 with one.
    fn needs_mount_port(self, options: &str) -> bool {
        self == Mounter::Wharf || has_mount_protocol(options)
    }

    /// Why it cannot mount here, if it cannot.
    pub(crate) fn missing(self) -> Option<String> {
        if !rustix::process::geteuid().is_root() {
            return Some("mounts need root".to_owned());
        }
        match self {
            Mounter::Wharf => (!Path::new("/dev/fuse").exists())
                .then(|| "there is no /dev/fuse: load the kernel's module `fuse`".to_owned()),
            Mounter::Kernel if !has_nfs() && run("modprobe", &["nfs"]).is_err() && !has_nfs() => {
                Some("this kernel has no NFS client: /proc/filesystems has no nfs, and `modprobe nfs` fails".to_owned())
            }
            Mounter::Kernel => {
                (!["/sbin/mount.nfs", "/usr/sbin/mount.nfs"].iter().any(|path| Path::new(path).exists()))
                    .then(|| "there is no mount.nfs: install it (Debian: nfs-common)".to_owned())
            }
        }
    }
}

/// A mount that fails is no reason to run without root.
fn not_mounted(error: ToolError) -> MountError {
    match error {
        ToolError::Failed { command, said } => MountError::NotMounted { command, said },
        error => error.into(),
    }
}

/// Whether options of mount(8) name a version that has the protocol MOUNT.
fn has_mount_protocol(options: &str) -> bool {
    let version =
        |option: &str| ["vers=", "nfsvers=", "v"].iter().find_map(|name| option.strip_prefix(name)?.parse().ok());
    options.split(',').filter_map(version).any(|version: f64| version < 4.0)
}

fn has_nfs() -> bool {
    let kinds = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    kinds.split_whitespace().any(|kind| kind == "nfs" || kind == "nfs4")
}

/// A directory where exports are mounted one after the other, seen by this thread and its children only.
#[derive(Debug)]
pub(crate) struct MountPoint {
    /// Contains the directory, and the log of `wharf mount`.
    folder: PathBuf,
    /// Until it is removed.
    made: Option<Made>,
}

impl MountPoint {
    pub(crate) fn new() -> Result<MountPoint, MountError> {
        volume::hide_mounts()?;
        let folder = std::env::temp_dir().join(format!("wharf-lab-mount-{}", std::process::id()));
        let made = Some(Made::new(Leftover::local(&folder)));
        let point = MountPoint { folder, made };
        let directory = point.directory();
        fs::create_dir_all(&directory).map_err(|source| MountError::File { path: directory, source })?;
        Ok(point)
    }

    fn directory(&self) -> PathBuf {
        self.folder.join("export")
    }

    /// Mounts the directory that a server serves, with options of mount(8). `program` is Wharf.
    pub(crate) fn mount(
        &self,
        mounter: Mounter,
        program: &Path,
        server: &Server,
        options: &str,
    ) -> Result<Mounted, MountError> {
        let (source, options) = server.mount_source(options, mounter.needs_mount_port(options));
        let directory = self.directory();
        let options = if options.is_empty() { Vec::new() } else { vec!["-o", options.as_str()] };
        let mut mounted = Mounted { directory: directory.clone(), process: None, is_there: false };
        match mounter {
            Mounter::Kernel => {
                let directory = directory.to_string_lossy();
                let arguments = [&["-t", "nfs"], &options[..], &[source.as_str(), &*directory]].concat();
                run("mount", &arguments).map_err(not_mounted)?;
            }
            Mounter::Wharf => {
                let mut command = Command::new(program);
                command.args(["mount", "--foreground"]).args(&options).arg(&source).arg(&directory);
                mounted.process = Some(self.start(&mut command)?);
                mounted.wait_until_there(&command, &self.log())?;
            }
        }
        mounted.is_there = true;
        Ok(mounted)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn start(&self, command: &mut Command) -> Result<Child, MountError> {
        let log = File::create(self.log()).map_err(|source| MountError::File { path: self.log(), source })?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        sys::end_with_parent(command);
        command.spawn().map_err(|source| MountError::File { path: command.get_program().into(), source })
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.directory());
        let _ = fs::remove_file(self.log());
        if fs::remove_dir(&self.folder).is_ok() {
            self.made.take().into_iter().for_each(Made::release);
        }
    }
}

/// A mounted export, which is unmounted when this is dropped.
#[derive(Debug)]
pub(crate) struct Mounted {
    directory: PathBuf,
    process: Option<Child>,
    is_there: bool,
}

impl Mounted {
    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Unmounts. What was written through it is at the server then.
    pub(crate) fn unmount(mut self) -> Result<(), MountError> {
        self.is_there = false;
        run("umount", &[&self.directory.to_string_lossy()])?;
        if let Some(process) = &mut self.process {
            let _ = process.wait();
        }
        Ok(())
    }

    fn wait_until_there(&mut self, command: &Command, log: &Path) -> Result<(), MountError> {
        let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
        let outside = self.directory.parent().and_then(device);
        let began = Instant::now();
        while device(&self.directory) == outside {
            let is_gone = self.process.as_mut().is_none_or(|process| !matches!(process.try_wait(), Ok(None)));
            if is_gone || began.elapsed() > TIMEOUT {
                let said = fs::read_to_string(log).unwrap_or_default();
                return Err(MountError::NotMounted { command: words(command), said: said.trim().to_owned() });
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_there && run("umount", &[&self.directory.to_string_lossy()]).is_err() {
            // What is still in use goes with the last process that uses it.
            let _ = run("umount", &["--lazy", &self.directory.to_string_lossy()]);
        }
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn words(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_is_given_the_port_of_mount_only_for_versions_that_have_it() {
        for (options, is_needed) in [
            ("vers=3", true),
            ("ro,nfsvers=3,nolock", true),
            ("v3", true),
            ("vers=2", true),
            ("vers=4.2,nconnect=4", false),
            ("v4.1", false),
            ("", false),
        ] {
            assert_eq!(Mounter::Kernel.needs_mount_port(options), is_needed, "{options}");
            assert!(Mounter::Wharf.needs_mount_port(options), "{options}");
        }
    }
}
