use std::num::NonZeroUsize;
use std::time::Duration;

use crate::InjectedError;

/// The effect of a rule on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails without any effect.
    Error(InjectedError),
    /// The call is delayed by this time.
    Delay(Duration),
    /// A write writes at most this many bytes.
    Short(NonZeroUsize),
    /// A call that may not wait is told to wait; calls that may wait are not selected.
    WouldBlock,
}
