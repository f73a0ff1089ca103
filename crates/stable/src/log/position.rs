use std::fmt;

/// An upper bound: reaching it would take centuries. Sums of positions and sizes below it do not overflow.
pub(crate) const MAX_POSITION: u64 = 1 << 62;

/// A position in a log: the number of bytes stored before it. It only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(u64);

impl Position {
    /// The place in front of everything.
    pub const START: Position = Position(0);

    /// The place behind so many bytes.
    pub const fn new(bytes: u64) -> Position {
        Position(bytes)
    }

    /// How many bytes are in front of it.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
