//! Mounts and unmounts: by system calls for the superuser, by `fusermount3` for other users.

use std::fs::{self, File};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};

use crate::abi::MAX_DATA_BYTES;
use crate::device::Device;
use crate::error::{MountError, UnmountError};
use crate::options::Options;

/// The device through which the kernel sends its requests.
const DEVICE: &str = "/dev/fuse";
/// The program that mounts for unprivileged users.
const FUSERMOUNT: &str = "fusermount3";
/// The variable with the number of the socket through which `fusermount3` passes the descriptor.
const SOCKET_VARIABLE: &str = "_FUSE_COMMFD";

/// Mounts on `dir`, an absolute path of a directory; `root_mode` has the root's mode bits.
///
/// # Errors
/// The error of the system.
pub(crate) fn attach(dir: &Path, root_mode: u32, options: &Options) -> Result<Device, MountError> {
    if is_superuser() { by_system_call(dir, root_mode, options) } else { by_fusermount(dir, options) }
}

fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

fn by_system_call(dir: &Path, root_mode: u32, options: &Options) -> Result<Device, MountError> {
    let opened = rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let device = opened.map_err(|error| MountError::Device(error.into()))?;
    let data = format!("fd={},rootmode={root_mode:o},user_id=0,group_id=0{}", device.as_raw_fd(), common(options));
    let data = std::ffi::CString::new(data).map_err(|error| refused(dir, error.into()))?;
    let mounted = rustix::mount::mount(options.source.as_str(), dir, "fuse.wharf", flags(options), data.as_c_str());
    mounted.map_err(|error| refused(dir, error.into()))?;
    Ok(Device(device))
}

fn refused(dir: &Path, source: io::Error) -> MountError {
    MountError::Refused { dir: dir.to_owned(), source }
}

fn flags(options: &Options) -> MountFlags {
    let mut flags = MountFlags::empty();
    for (is_set, flag) in [
        (options.is_read_only, MountFlags::RDONLY),
        (!options.allows_programs, MountFlags::NOEXEC),
        (!options.allows_devices, MountFlags::NODEV),
        (!options.allows_set_ids, MountFlags::NOSUID),
        (options.is_synchronous, MountFlags::SYNCHRONOUS),
        // The server maintains access times.
        (true, MountFlags::NOATIME),
    ] {
        flags.set(flag, is_set);
    }
    flags
}

/// The options for both ways, each with a comma in front.
fn common(options: &Options) -> String {
    let others = if options.allows_others { ",allow_other" } else { "" };
    // Without the kernel's checks nobody would check who opens a FIFO, a socket or a device: that calls nobody here.
    format!(",max_read={MAX_DATA_BYTES},default_permissions{others}")
}

fn by_fusermount(dir: &Path, options: &Options) -> Result<Device, MountError> {
    let failed = |error: Errno| MountError::Fusermount(error.into());
    let stream = SocketType::STREAM;
    // The child inherits the descriptor, so it must stay open on exec.
    let (ours, childs) = socketpair(AddressFamily::UNIX, stream, SocketFlags::empty(), None).map_err(failed)?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC).map_err(failed)?;
    let mut fusermount = Command::new(FUSERMOUNT);
    fusermount.arg("-o").arg(fusermount_options(options)).arg("--").arg(dir);
    fusermount.env(SOCKET_VARIABLE, childs.as_raw_fd().to_string()).stdin(Stdio::null());
    let mut child = fusermount.spawn().map_err(MountError::Fusermount)?;
    drop(childs);
    let device = receive_descriptor(&ours);
    let status = child.wait().map_err(MountError::Fusermount)?;
    match device {
        Some(device) if status.success() => {
            rustix::io::fcntl_setfd(&device, rustix::io::FdFlags::CLOEXEC).map_err(failed)?;
            Ok(Device(device))
        }
        _ => Err(why_refused(dir)),
    }
}

/// Why `fusermount3` did not mount, as far as this process can find out.
fn why_refused(dir: &Path) -> MountError {
    let opened = File::options().read(true).write(true).open(DEVICE);
    match (opened, fs::metadata(DEVICE)) {
        (Err(source), Ok(device)) if source.kind() == io::ErrorKind::PermissionDenied => {
            MountError::DeviceMode { mode: device.mode() & 0o777, source }
        }
        _ => MountError::FusermountRefused(dir.to_owned()),
    }
}

fn fusermount_options(options: &Options) -> String {
    let source = options.source.replace('\\', "\\\\").replace(',', "\\,");
    let mut text = format!("fsname={source},subtype=wharf,noatime{}", common(options));
    for (is_set, name) in
        [(options.is_read_only, ",ro"), (!options.allows_programs, ",noexec"), (options.is_synchronous, ",sync")]
    {
        if is_set {
            text.push_str(name);
        }
    }
    text
}

/// The descriptor received from a socket, if one comes before it closes.
fn receive_descriptor(socket: &OwnedFd) -> Option<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0; 1];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    })
}

/// Unmounts `dir`. With `detach` also when it is busy; open files there stay usable.
///
/// # Errors
/// The error of the system.
pub(crate) fn detach(dir: &Path, detach: bool) -> Result<(), UnmountError> {
    if is_superuser() { detach_by_system_call(dir, detach) } else { detach_by_fusermount(dir, detach) }
}

fn detach_by_system_call(dir: &Path, detach: bool) -> Result<(), UnmountError> {
    let flags = if detach { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    match rustix::mount::unmount(dir, flags | UnmountFlags::NOFOLLOW) {
        Ok(()) => Ok(()),
        Err(Errno::BUSY) => Err(UnmountError::Busy(dir.to_owned())),
        Err(error) => Err(UnmountError::Refused { dir: dir.to_owned(), source: error.into() }),
    }
}

fn detach_by_fusermount(dir: &Path, detach: bool) -> Result<(), UnmountError> {
    let mut fusermount = Command::new(FUSERMOUNT);
    fusermount.arg("-u");
    if detach {
        fusermount.arg("-z");
    }
    let output = fusermount.arg("--").arg(dir).stdin(Stdio::null()).output();
    let refused = |source| UnmountError::Refused { dir: dir.to_owned(), source };
    let output = output.map_err(refused)?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false if said.contains("busy") => Err(UnmountError::Busy(dir.to_owned())),
        false => Err(refused(io::Error::other(said.trim().to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comma_in_the_name_of_the_source_is_no_end_of_an_option() {
        let options = Options { source: "a,b\\".to_owned(), allows_others: false, ..Options::default() };
        let text = fusermount_options(&options);
        assert!(text.starts_with("fsname=a\\,b\\\\,subtype=wharf,"), "{text}");
        assert!(text.ends_with(",default_permissions"), "{text}");
    }
}
