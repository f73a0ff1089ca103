//! The records of measurements, which measuring code writes and reports read.
//!
//! A [`JobSummary`] is what one job of a load found, with whole distributions of its latencies. `wharf bench` shows it
//! in fio's fields. It is never stored: an experiment takes the figures and percentiles of a [`Measurement`] from it.
//!
//! A [`Run`] is the head of a record. It has the [`Design`], the [`Machine`] and the settings. A [`Measurement`] is one
//! pass: its levels, its place in the run, its figures, and disturbances. A
//! [`PastRun`] is what a history keeps of a run.

mod design;
mod document;
mod goal;
mod history;
mod job;
mod levels;
mod measurement;
mod profile;
mod replay;
mod run;

pub use design::{Better, CurveKind, Design, Factor, FigureKind, TableKind};
pub use document::{BeforeAfter, DocumentRatio};
pub use goal::{Baseline, Bound, Goal};
pub use history::{PastFigure, PastRun};
pub use job::{Direction, DirectionSummary, JobSummary, Rates};
pub use levels::Levels;
pub use measurement::{Disturbance, Measurement, PassPlace, Percentile};
pub use profile::{Profile, Profiles, ShareChange};
pub use replay::{ProcedureSummary, ReplaySummary};
pub use run::{Machine, Precision, Run};
