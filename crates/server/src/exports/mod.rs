//! The exports, their clients and their options.

mod export;
mod pseudo;
mod rules;
mod table;

pub use export::Export;
pub use rules::ExportRules;
pub(crate) use table::Exported;
pub use table::{ExportTable, ExportTableError};
