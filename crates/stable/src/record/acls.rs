//! Access lists in records.

use buffer::Buffer;
use vfs::{Access, AclEntry, AclTag, Acls, PosixAcl};
use xdr::{Decoder, Encoder};

/// An upper bound of the entries of a list.
const MAX_ENTRIES: usize = 1 << 13;

/// The bytes of both lists.
pub(crate) fn acls_bytes(acls: &Acls) -> Buffer {
    let mut bytes = Buffer::new();
    let mut to = Encoder::new(&mut bytes);
    put_list(&mut to, &acls.access);
    to.bool(acls.default.is_some());
    acls.default.iter().for_each(|list| put_list(&mut to, list));
    bytes
}

/// Reads lists from [`acls_bytes`]; `None` for other bytes.
pub(crate) fn read_acls(bytes: &[u8]) -> Option<Acls> {
    let mut from = Decoder::new(bytes);
    let access = take_list(&mut from)?;
    let default = if from.bool().ok()? { Some(take_list(&mut from)?) } else { None };
    Some(Acls { access, default })
}

fn put_list(to: &mut Encoder<'_>, list: &PosixAcl) {
    to.count(list.entries().len());
    for entry in list.entries() {
        let (tag, id) = match entry.tag {
            AclTag::Owner => (1, 0),
            AclTag::User(id) => (2, id),
            AclTag::OwningGroup => (3, 0),
            AclTag::Group(id) => (4, id),
            AclTag::Mask => (5, 0),
            AclTag::Other => (6, 0),
        };
        to.u32(tag);
        to.u32(id);
        to.u32(entry.allowed.mode_bits());
    }
}

fn take_list(from: &mut Decoder<'_>) -> Option<PosixAcl> {
    let count = from.count(MAX_ENTRIES).ok()?;
    let entries = (0..count).map(|_| {
        let (tag, id, bits) = (from.u32().ok()?, from.u32().ok()?, from.u32().ok()?);
        let tag = match tag {
            1 => AclTag::Owner,
            2 => AclTag::User(id),
            3 => AclTag::OwningGroup,
            4 => AclTag::Group(id),
            5 => AclTag::Mask,
            6 => AclTag::Other,
            _ => return None,
        };
        Some(AclEntry { tag, allowed: Access::from_mode_bits(bits) })
    });
    PosixAcl::new(entries.collect::<Option<Vec<_>>>()?).ok()
}
