//! How figures are shown; nothing here measures, reads a clock or writes to a file.
//!
//! - [`Run::to_text`] shows the jobs of a benchmark in the words of fio's terminal output, [`Run::to_json`] with the
//!   field names of fio's JSON.
//! - [`Table`] shows rows for terminals, in Markdown and as CSV.
//! - [`ratios`] shows comparisons that are claimed together.
//! - [`to_json`] shows anything as JSON in which no reader rounds an integer.
//! - [`StackedBars`] draws figures over an axis as SVG.
//! - [`lab`] shows what an experiment found: for terminals, in Markdown, as CSV, JSON, SVG and as one page.
//! - [`units`] shows single figures.
#![forbid(unsafe_code)]

mod chart;
mod curve;
mod exact;
mod html;
mod job;
mod json;
pub mod lab;
mod percentiles;
mod ratio;
mod replay;
mod table;
mod text;
pub mod units;

pub use chart::{ChartError, StackedBars};
pub use exact::{to_json, write_json, write_json_line};
pub use job::Run;
pub use ratio::{plain_ratio, ratios};
pub use table::{Align, Column, Table};
