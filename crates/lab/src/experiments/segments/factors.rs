//! The factors and their levels, by which the figures of the source are found too.

pub(super) const PATH: &str = "path";
pub(super) const BUFFERS: &str = "send buffer";
pub(super) const RULE: &str = "rule";

pub(super) const BEFORE: &str = "before";
pub(super) const AGAIN: &str = "before, again (A/A)";
pub(super) const AFTER: &str = "after";
pub(super) const TODAY: &str = "today";

pub(super) fn buffer_name(send_bytes: usize) -> String {
    format!("{}K", send_bytes >> 10)
}
