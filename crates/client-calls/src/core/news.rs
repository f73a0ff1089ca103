/// News of a server for callers who wait for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// No reply came within the time after which other calls fail.
    Silent,
    /// The server answers again.
    Answers,
}
