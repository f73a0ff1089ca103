//! The factors, levels and figures, by which the figures of the source are found too.

pub(super) const CACHE: &str = "cache";
pub(super) const OPENS: &str = "opens";
pub(super) const PROCESSES: &str = "processes";

pub(super) const OFF: &str = "off";
pub(super) const AGAIN: &str = "off, again (A/A)";
pub(super) const ON: &str = "on";
pub(super) const PLAIN: &str = "plain";
pub(super) const SLOW: &str = "slow";
/// The opens of servers whose instructions are counted.
pub(super) const COUNTED: &str = "counted";

pub(super) const BANDWIDTH: &str = "bandwidth";

/// The bandwidth of reads of so many bytes.
pub(super) fn bandwidth_of(size: u32) -> String {
    format!("{BANDWIDTH}, reads of {size}")
}
