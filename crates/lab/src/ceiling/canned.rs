//! Replies that are right for anybody who asks the one thing that they answer (RFC 1813).

/// How long the handles in it are, as Wharf's: so that calls are as long as to Wharf.
const HANDLE_BYTES: u32 = 32;
/// Attributes of a file, all of them zero (RFC 1813, section 2.6, `fattr3`).
const ATTRIBUTES: [u32; 21] = [0; 21];
/// Where the xid goes: behind the record mark.
const XID: std::ops::Range<usize> = 4..8;

/// The length of what is in front of the data of a READ, record mark included.
pub const READ_HEADER_BYTES: usize = 132;

/// A reply with its record mark, but for the data behind it and the xid.
#[derive(Debug, Clone)]
pub struct Canned(Vec<u8>);

impl Canned {
    /// The reply to MNT: a handle, and that AUTH_SYS is wanted.
    pub fn mount() -> Canned {
        let [length, handle @ ..] = handle();
        Canned::of([0, length].into_iter().chain(handle).chain([1, 1]), 0)
    }

    /// The reply to LOOKUP: a handle, and no attributes.
    pub fn lookup() -> Canned {
        let [length, handle @ ..] = handle();
        Canned::of([0, length].into_iter().chain(handle).chain([0, 0]), 0)
    }

    /// The beginning of the reply to READ of so many bytes, a multiple of four, which come behind it.
    pub fn read(bytes: u32) -> Canned {
        Canned::of([0, 1].into_iter().chain(ATTRIBUTES).chain([bytes, 0, bytes]), bytes)
    }

    /// An accepted reply with these words, and `behind` bytes after them (RFC 5531, section 9).
    fn of(words: impl Iterator<Item = u32>, behind: u32) -> Canned {
        const XID: u32 = 0;
        const REPLY: u32 = 1;
        let body: Vec<u32> = [XID, REPLY, 0, 0, 0, 0].into_iter().chain(words).collect();
        let mark = 1 << 31 | (body.len() as u32 * 4 + behind);
        Canned(std::iter::once(mark).chain(body).flat_map(u32::to_be_bytes).collect())
    }

    /// Puts it behind what is there, with this xid.
    pub fn append_to(&self, out: &mut Vec<u8>, xid: [u8; 4]) {
        let start = out.len();
        out.extend_from_slice(&self.0);
        out[start..][XID].copy_from_slice(&xid);
    }
}

/// The length and the words of a handle.
fn handle() -> [u32; 1 + HANDLE_BYTES as usize / 4] {
    let mut words = [0x7766_6666; 1 + HANDLE_BYTES as usize / 4];
    words[0] = HANDLE_BYTES;
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_of_a_read_is_as_long_as_a_servers_and_announces_its_data() {
        let mut out = Vec::new();
        Canned::read(4096).append_to(&mut out, [9, 8, 7, 6]);
        assert_eq!(out.len(), READ_HEADER_BYTES);
        assert_eq!(out[..8], [0x80, 0, 0x10, 128, 9, 8, 7, 6]);
        assert_eq!(out[out.len() - 4..], 4096_u32.to_be_bytes());
    }
}
