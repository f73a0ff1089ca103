//! The exports, their clients and their options.

mod error;
mod export;
mod pseudo;
mod rules;
mod table;

pub use error::ExportTableError;
pub use export::Export;
pub use rules::ExportRules;
pub use table::ExportTable;
pub(crate) use table::Exported;
