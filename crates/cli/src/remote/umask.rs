use rustix::fs::Mode;

/// The mode of new directories: all permissions but those in this process's umask.
pub fn new_dir_mode() -> u32 {
    0o777 & !umask()
}

/// The same for files.
pub fn new_file_mode() -> u32 {
    0o666 & !umask()
}

/// This process's umask.
pub fn umask() -> u32 {
    // The umask can only be read by setting it; no other thread creates files meanwhile.
    let mask = rustix::process::umask(Mode::empty());
    rustix::process::umask(mask);
    mask.bits()
}
