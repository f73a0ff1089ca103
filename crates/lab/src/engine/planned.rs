use measure::record::{Levels, Place};

/// A pass that is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) levels: Levels,
    pub(super) place: Place,
}
