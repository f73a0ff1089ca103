use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The path of /proc that leads to what `fd` stands for.
pub(crate) fn proc_path(fd: BorrowedFd<'_>) -> CString {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    CString::new(path).unwrap_or_default()
}
