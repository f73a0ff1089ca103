//! The system calls that no safe wrapper covers: a shared mapping, ignoring a signal, and a look at descriptors before
//! Rust's runtime starts. All `unsafe` code of this crate is here.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

use memmap2::{MmapMut, MmapOptions};

/// Maps the first `length` bytes of `file` for reading and writing. Data stored there survives the process.
///
/// The file must stay that long, and its file system must have allocated every block: an access without a block kills
/// the process with SIGBUS.
pub(crate) fn map_shared(file: &File, length: usize) -> io::Result<MmapMut> {
    // SAFETY: another process could change bytes between two reads. But only this process writes the file: it is in the
    // state directory, which is locked for this process and closed to other users. Every read validates the bytes, so
    // no value makes an access invalid.
    unsafe { MmapOptions::new().len(length).map_mut(file) }
}

/// Ignores the signal of a write beyond the limit of file sizes (`ulimit -f`), which would end the process. The write
/// then fails.
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal runs no code of ours, and the call touches no memory of ours. It cannot fail: the
    // signal exists, and may be ignored.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The standard streams that were closed when the process began, one bit for each.
static CLOSED_STREAMS: AtomicU8 = AtomicU8::new(0);

/// Runs before `main`: Rust's runtime opens closed streams as `/dev/null`, where output would be lost unnoticed.
// SAFETY: the section holds functions that the C library calls once, without threads, before `main`; they may ignore
// its arguments. This one needs nothing of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        for stream in 0..=2 {
            // SAFETY: the call only asks whether the descriptor is open, and touches no memory of ours.
            if unsafe { libc::fcntl(stream, libc::F_GETFD) } == -1 {
                CLOSED_STREAMS.fetch_or(1 << stream, Ordering::Relaxed);
            }
        }
    }
    look
};

/// Fails as a system call would if standard input (0), output (1) or error (2) was closed when the process began.
///
/// # Errors
/// EBADF.
pub fn check_stream(stream: u8) -> io::Result<()> {
    match CLOSED_STREAMS.load(Ordering::Relaxed) & 1 << stream {
        0 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EBADF)),
    }
}
