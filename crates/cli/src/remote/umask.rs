use rustix::fs::Mode;
use rustix::process::umask;

/// The mode of a directory that is made here: everything but what this process's file creation mask takes away.
pub fn new_dir_mode() -> u32 {
    0o777 & !mask()
}

/// The same of a file.
pub fn new_file_mode() -> u32 {
    0o666 & !mask()
}

fn mask() -> u32 {
    // The mask can only be read by setting it; no other thread makes files meanwhile.
    let mask = umask(Mode::empty());
    umask(mask);
    mask.bits()
}
