//! The record of an experiment: everything that measures makes one, and everything that reports reads it.
//!
//! A [`Run`] is the head of a record. It has the [`Design`], the [`Machine`] and the settings. A [`Measurement`] is one pass: the
//! levels it ran with, its place in the run, its figures, and what disturbed it.

mod design;
mod measurement;
mod run;

pub use design::{Better, CurveKind, Design, DocumentRatio, Factor, FigureKind, Levels, TableKind};
pub use measurement::{Disturbance, Measurement, Percentile, Place};
pub use run::{Machine, Precision, Run};
