use rustix::fs::Mode;
use rustix::process::umask;

/// The mode of new directories: all permissions but those in this process's umask.
pub fn new_dir_mode() -> u32 {
    0o777 & !mask()
}

/// The same for files.
pub fn new_file_mode() -> u32 {
    0o666 & !mask()
}

fn mask() -> u32 {
    // The umask can only be read by setting it; no other thread creates files meanwhile.
    let mask = umask(Mode::empty());
    umask(mask);
    mask.bits()
}
