//! Replies that are made once (RFC 1813, RFC 5531 §9). They have the attributes that servers send.

use super::call::Call;

const MOUNT: u32 = 100_005;
const NFS: u32 = 100_003;
pub(super) const READ: u32 = 6;

/// The most data of a READ.
pub(super) const MAX_READ_BYTES: u32 = 1 << 20;
/// The length of what is in front of the data of a READ, record mark included.
pub(super) const READ_HEADER_BYTES: usize = 132;

/// The words of a handle: as many as Wharf's have, so that calls are as long.
const HANDLE_WORDS: u32 = 8;
/// The last word of the directory's handle, and of the file's.
const DIRECTORY: u32 = 1;
const FILE: u32 = 2;
/// `ACCESS3_READ` and all others.
const ALL_RIGHTS: u32 = 0x3f;

/// A reply with its record mark; the xid and the data of a READ are not in it.
#[derive(Debug, Clone)]
struct Canned(Vec<u8>);

/// All replies.
#[derive(Debug)]
pub(super) struct Replies {
    null: Canned,
    exports: Canned,
    mount: Canned,
    directory: Canned,
    file: Canned,
    lookup: Canned,
    access: Canned,
    info: Canned,
    read: Canned,
    unknown: Canned,
}

impl Replies {
    /// The replies of a server that exports a directory with one file of so many bytes, whatever its name.
    pub(super) fn new(export: &[u8], file_bytes: u64) -> Replies {
        let (directory, file) = (attributes(DIRECTORY, 4096), attributes(FILE, file_bytes));
        let with = |parts: &[&[u32]]| Canned::accepted(&parts.concat());
        let (one_mib, no_limit) = (MAX_READ_BYTES, [u32::MAX >> 1, u32::MAX]);
        Replies {
            null: with(&[]),
            // One export, for everybody, and no more.
            exports: with(&[&[1], &opaque(export), &[0, 0]]),
            // AUTH_SYS is wanted.
            mount: with(&[&[0], &handle(DIRECTORY), &[1, 1]]),
            directory: with(&[&[0], &directory]),
            file: with(&[&[0], &file]),
            lookup: with(&[&[0], &handle(FILE), &[1], &file, &[1], &directory]),
            access: with(&[&[0, 1], &file, &[ALL_RIGHTS]]),
            info: with(&[&[0, 0], &[one_mib, one_mib, 4096, one_mib, one_mib, 4096, 4096], &no_limit, &[0, 1, 0]]),
            read: with(&[&[0, 1], &file, &[0, 0, 0]]),
            unknown: Canned::of(PROC_UNAVAIL, &[]),
        }
    }

    /// Appends the reply to a call, but for a READ's.
    pub(super) fn append(&self, call: &Call, out: &mut Vec<u8>) {
        let reply = match (call.program, call.procedure) {
            (_, 0) | (MOUNT, 3) => &self.null,
            (MOUNT, 1) => &self.mount,
            (MOUNT, 5) => &self.exports,
            (NFS, 1) if call.end[2] == DIRECTORY => &self.directory,
            (NFS, 1) => &self.file,
            (NFS, 3) => &self.lookup,
            (NFS, 4) => &self.access,
            (NFS, 19) => &self.info,
            _ => &self.unknown,
        };
        reply.append_to(out, call.xid);
    }

    /// Appends the beginning of the reply to a READ, whose data come behind it: so many bytes, a multiple of four.
    pub(super) fn append_read(&self, call: &Call, bytes: u32, is_end: bool, out: &mut Vec<u8>) {
        let start = out.len();
        self.read.append_to(out, call.xid);
        let mark = 1 << 31 | (READ_HEADER_BYTES as u32 - 4 + bytes);
        out[start..][..4].copy_from_slice(&mark.to_be_bytes());
        let end: Vec<u8> = [bytes, u32::from(is_end), bytes].into_iter().flat_map(u32::to_be_bytes).collect();
        out[start + READ_HEADER_BYTES - end.len()..].copy_from_slice(&end);
    }
}

/// Whether it is a READ, whose reply has data.
pub(super) fn is_read(call: &Call) -> bool {
    (call.program, call.procedure) == (NFS, READ)
}

const SUCCESS: u32 = 0;
const PROC_UNAVAIL: u32 = 3;

impl Canned {
    fn accepted(words: &[u32]) -> Canned {
        Canned::of(SUCCESS, words)
    }

    /// An accepted reply with a state and these words, without a verifier.
    fn of(state: u32, words: &[u32]) -> Canned {
        const XID: u32 = 0;
        const REPLY: u32 = 1;
        let body = [&[XID, REPLY, 0, 0, 0, state], words].concat();
        let mark = 1 << 31 | (body.len() as u32 * 4);
        Canned(std::iter::once(mark).chain(body).flat_map(u32::to_be_bytes).collect())
    }

    fn append_to(&self, out: &mut Vec<u8>, xid: [u8; 4]) {
        let start = out.len();
        out.extend_from_slice(&self.0);
        out[start + 4..start + 8].copy_from_slice(&xid);
    }
}

/// The length and the words of a handle.
fn handle(last: u32) -> Vec<u32> {
    let mut words = vec![0x7766_6666; 1 + HANDLE_WORDS as usize];
    words[0] = HANDLE_WORDS * 4;
    words[HANDLE_WORDS as usize] = last;
    words
}

/// `fattr3` (RFC 1813 §2.6): a file or directory of root's that never changes.
fn attributes(which: u32, bytes: u64) -> Vec<u32> {
    let (kind, mode) = if which == DIRECTORY { (2, 0o777) } else { (1, 0o666) };
    let size = [(bytes >> 32) as u32, bytes as u32];
    let owner = [kind, mode, 1, 0, 0];
    [&owner[..], &size, &size, &[0, 0], &[0, 1], &[0, which], &[1; 6]].concat()
}

/// A length, and bytes that are filled up to whole words.
fn opaque(bytes: &[u8]) -> Vec<u32> {
    let word = |chunk: &[u8]| (0..4).fold(0, |word, at| word << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
    std::iter::once(bytes.len() as u32).chain(bytes.chunks(4).map(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_of_a_read_announces_its_data_and_the_end_of_the_file() {
        let call = Call { xid: [9, 8, 7, 6], program: NFS, procedure: READ, end: [0; 3] };
        let mut out = vec![5];
        Replies::new(b"/x", 1 << 20).append_read(&call, 4096, true, &mut out);
        let header = &out[1..];
        assert_eq!(header.len(), READ_HEADER_BYTES);
        assert_eq!(header[..8], [0x80, 0, 0x10, 128, 9, 8, 7, 6]);
        assert_eq!(header[120..], [0, 0, 0x10, 0, 0, 0, 0, 1, 0, 0, 0x10, 0]);
    }

    #[test]
    fn text_is_filled_up_to_whole_words() {
        assert_eq!(opaque(b"/abcd"), [5, 0x2f61_6263, 0x6400_0000]);
    }
}
