use std::sync::Arc;

use fs_mem::{MemFs, MemOptions};
use mount::{Options, Unmounted};

/// The bytes of the header of a request (`fuse_in_header`).
const HEADER_BYTES: usize = 40;
/// More than an input fills.
const CAPACITY_BYTES: u64 = 1 << 22;

/// Requests of a kernel that lies, one after the other, to a file system in memory: for each the number of what is
/// asked, that of the file and a count in a byte each, and then so many bytes of arguments. The input as a whole is a
/// request as well.
pub fn fuse(input: &[u8]) -> bool {
    let memory = MemFs::new(MemOptions { root_mode: 0o777, capacity_bytes: CAPACITY_BYTES, ..MemOptions::default() });
    let mut mount = Unmounted::new(Arc::new(memory), Options::default()).expect("/dev/null");
    mount.take(input);
    let (mut rest, mut count) = (input, 0);
    while let Some(([asked, file, length], behind)) = rest.split_first_chunk() {
        let (arguments, next) = behind.split_at(usize::from(*length).min(behind.len()));
        count += 1;
        mount.take(&request(u32::from(*asked), u64::from(*file), count, arguments));
        rest = next;
    }
    count > 0
}

/// A request of the superuser's.
fn request(asked: u32, file: u64, unique: u64, arguments: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + arguments.len()) as u32;
    let numbers = [&length.to_ne_bytes()[..], &asked.to_ne_bytes(), &unique.to_ne_bytes(), &file.to_ne_bytes()];
    [&numbers.concat()[..], &[0; 16], arguments].concat()
}
