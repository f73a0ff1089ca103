/// The result of decoding.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why bytes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end too early.
    #[error("message ends early: {needed} bytes wanted at byte {offset}, {left} left")]
    Truncated {
        /// The offset in the message, in bytes.
        offset: usize,
        /// The number of required bytes.
        needed: usize,
        /// The number of remaining bytes.
        left: usize,
    },
    /// A length or a count exceeds the limit of its type.
    #[error("length {length} at byte {offset} is over the limit of {max}")]
    TooLong {
        /// The offset in the message, in bytes.
        offset: usize,
        /// The length.
        length: u32,
        /// The limit.
        max: usize,
    },
    /// A value is invalid for a boolean, an enumeration or a union.
    #[error("{value} at byte {offset} is no {type_name}")]
    BadValue {
        /// The offset in the message, in bytes.
        offset: usize,
        /// The type.
        type_name: &'static str,
        /// The value.
        value: u32,
    },
}
