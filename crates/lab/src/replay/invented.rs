//! What a replay invents in the place of what was captured.

use super::ids::NameId;

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
