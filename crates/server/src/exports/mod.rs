//! The exports, their clients and their options.

mod claim;
mod clients;
mod export;
mod options;
mod pseudo;
mod table;

pub use claim::Claim;
pub use clients::{ClientPattern, ClientPatternError};
pub use export::{AccessRule, Export};
pub use options::{ExportOptions, Squash};
pub(crate) use table::Exported;
pub use table::{ExportTable, ExportTableError};
