use measure::record::{Levels, PassPlace};

/// A pass that is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) levels: Levels,
    pub(super) place: PassPlace,
}
