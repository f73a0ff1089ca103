//! Byte buffers for messages.
//!
//! A [`Buffer`] is memory that is always initialised, with a cursor: reading a file into it costs no clearing, and using
//! it again costs no allocation. An [`Output`] is a buffer with pieces of files in between: what a connection sends.
#![forbid(unsafe_code)]

mod buffer;
mod output;
mod pool;

pub use buffer::Buffer;
pub use output::{FilePiece, Mark, Output, SendableFile, SharedFile};
pub use pool::Pool;
