//! The factors and their levels, by which the figures of the source are found too.

pub(super) const PATH: &str = "path";
pub(super) const BUFFERS: &str = "send buffer";
pub(super) const DIRECTION: &str = "direction";
pub(super) const RULE: &str = "rule";

/// The document's hosts: it measured before the change towards r1, and after it towards s1.
pub(super) const TO_R1: &str = "to r1";
pub(super) const TO_S1: &str = "to s1";

pub(super) const BEFORE: &str = "before";
pub(super) const AGAIN: &str = "before, again (A/A)";
pub(super) const AFTER: &str = "after";
pub(super) const TODAY: &str = "today";
/// The sender of this machine's kernel, which has a rule of its own.
pub(super) const KERNEL: &str = "kernel";

pub(super) fn buffer_name(send_bytes: usize) -> String {
    format!("{}K", send_bytes >> 10)
}
