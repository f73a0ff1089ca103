//! Byte buffers for messages.
//!
//! A [`Buffer`] is initialised memory with a cursor: reading a file into it requires no clearing, and reusing it
//! requires no allocation. An [`Output`] is a buffer interleaved with pieces of files, which a connection sends.
#![forbid(unsafe_code)]

mod buffer;
mod output;
mod pool;

pub use buffer::Buffer;
pub use output::{FilePiece, Mark, Output, SendableFile, SharedFile};
pub use pool::Pool;
