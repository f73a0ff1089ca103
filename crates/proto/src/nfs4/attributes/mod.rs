//! The attributes of files.

mod fattr;
mod number;
mod value;

pub use fattr::*;
pub use number::*;
pub use value::*;
