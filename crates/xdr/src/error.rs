/// What decoding returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why some bytes are not what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end too early.
    #[error("message ends early: {needed} bytes wanted at byte {offset}, {left} left")]
    Truncated {
        /// Where in the message.
        offset: usize,
        /// How many bytes were wanted.
        needed: usize,
        /// How many there were.
        left: usize,
    },
    /// A length or a count is larger than the type allows.
    #[error("length {length} at byte {offset} is over the limit of {max}")]
    TooLong {
        /// Where in the message.
        offset: usize,
        /// The length.
        length: u32,
        /// The limit.
        max: usize,
    },
    /// A boolean, an enumeration or a union's arm has no such value.
    #[error("{value} at byte {offset} is no {type_name}")]
    BadValue {
        /// Where in the message.
        offset: usize,
        /// The type.
        type_name: &'static str,
        /// The value.
        value: u32,
    },
}
