//! The exports, their clients and their options.

mod clients;
mod export;
mod options;
mod pseudo;
mod rules;
mod table;

pub use clients::{ClientPattern, ClientPatternError};
pub use export::{AccessRule, Export};
pub use options::{ExportOptions, Squash};
pub use rules::ExportRules;
pub(crate) use table::Exported;
pub use table::{ExportTable, ExportTableError};
