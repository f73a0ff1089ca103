use std::num::NonZeroUsize;
use std::time::Duration;

use crate::InjectedError;

/// What a rule does to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails, and nothing was done.
    Error(InjectedError),
    /// The call is done, but takes this much longer.
    Delay(Duration),
    /// A write takes only so many bytes.
    Short(NonZeroUsize),
    /// A call that may not wait is told that it would have to; one that may is not selected.
    WouldBlock,
}
