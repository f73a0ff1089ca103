//! What a replay invents in the place of what was captured.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use buffer::Buffer;
use client::proto::nfs4::{AttributeValue, Component, Fattr, StateOwner};

use super::ids::NameId;
use super::left_out::LeftOut;

/// The hashes that owners and extended attributes are named by.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The longest target of a symbolic link.
pub(super) const MAX_TARGET_BYTES: u64 = 1023;

/// The name in the replay of a name in the capture.
pub(super) fn name(id: NameId) -> Vec<u8> {
    match id {
        NameId::This => b".".to_vec(),
        NameId::Parent => b"..".to_vec(),
        NameId::Invented(number) => format!("n{number}").into_bytes(),
    }
}

/// A target of a symbolic link.
pub(super) fn target(length: usize) -> Vec<u8> {
    vec![b't'; length]
}

/// A mode that leaves the owner all rights, who is the user of the replay.
pub(super) fn harmless_mode(mode: u32) -> u32 {
    mode & 0o777 | 0o700
}

/// The name of an owner in the replay.
pub(super) fn owner(owner: &StateOwner<'_>) -> [u8; 8] {
    HASHER.hash_one((owner.client, owner.owner)).to_be_bytes()
}

/// An owner of no client yet.
pub(super) fn unowned(name: &[u8]) -> StateOwner<'_> {
    StateOwner { client: Default::default(), owner: name }
}

/// The name of an extended attribute in the replay.
pub(super) fn attribute_name(name: Component<'_>) -> Vec<u8> {
    format!("x{:016x}", HASHER.hash_one(name.0)).into_bytes()
}

/// Attributes that leave the files to the user of the replay, who then can go on with them.
pub(super) fn harmless<'b>(set: &Fattr<'_>, buffer: &'b mut Buffer) -> Result<Fattr<'b>, LeftOut> {
    let (mut size, mut mode, mut accessed, mut modified) = (None, None, None, None);
    for value in set.values() {
        match value.map_err(|_| LeftOut::Damaged)? {
            AttributeValue::Size(bytes) => size = Some(AttributeValue::Size(bytes)),
            AttributeValue::Mode(bits) => mode = Some(AttributeValue::Mode(harmless_mode(bits))),
            AttributeValue::ModeUmask(both) => {
                mode = Some(AttributeValue::Mode(harmless_mode(both.mode & !both.umask)));
            }
            AttributeValue::TimeAccessSet(time) => accessed = Some(AttributeValue::TimeAccessSet(time)),
            AttributeValue::TimeModifySet(time) => modified = Some(AttributeValue::TimeModifySet(time)),
            _ => {}
        }
    }
    let values: Vec<AttributeValue<'_>> = [size, mode, accessed, modified].into_iter().flatten().collect();
    Ok(Fattr::collect(&values, buffer))
}
