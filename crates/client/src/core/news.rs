/// What somebody who waits for a server that may stay away for ever wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// Nothing came for as long as calls that may fail are given.
    Silent,
    /// The server answers again.
    Answers,
}
