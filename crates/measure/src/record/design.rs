use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One level of each factor, by the factor's name.
pub type Levels = BTreeMap<String, String>;

/// What an experiment asks, what it varies, and which figures answer it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// What the command line calls it.
    pub name: String,
    /// What it asks, in a sentence.
    pub question: String,
    /// Where the figures of comparison come from: a document, or nothing.
    pub source: Option<String>,
    /// What varies; the last factor varies fastest in tables.
    pub factors: Vec<Factor>,
    /// The factor whose levels run side by side: each level runs right before or after the first one.
    pub contenders: String,
    /// The level of [`Design::contenders`] that is its first level once more: a difference between the two is an error of the
    /// experiment.
    pub control: Option<String>,
    /// What each pass measures.
    pub figures: Vec<FigureKind>,
    /// What is compared.
    pub tables: Vec<TableKind>,
    /// Which figures are drawn against each other, such as latency against throughput.
    #[serde(default)]
    pub curves: Vec<CurveKind>,
    /// How this set-up differs from the source's.
    pub differences: Vec<String>,
    /// What was left out here, and why.
    pub skipped: Vec<String>,
}

/// Something that varies between passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Its name, unique in its design.
    pub name: String,
    /// Its levels, in the order of tables.
    pub levels: Vec<String>,
}

impl Factor {
    /// A factor with its levels, in the order of tables.
    pub fn new(name: &str, levels: Vec<String>) -> Factor {
        Factor { name: name.to_owned(), levels }
    }
}

/// A figure that every pass has, unless it does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureKind {
    /// Its name, unique in its design.
    pub name: String,
    /// Its unit, such as `MB/s`.
    pub unit: String,
    /// Which direction is an improvement.
    pub better: Better,
}

impl FigureKind {
    /// A figure with its unit.
    pub fn new(name: &str, unit: &str, better: Better) -> FigureKind {
        FigureKind { name: name.to_owned(), unit: unit.to_owned(), better }
    }
}

/// Which direction of a figure is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: times and costs.
    Lower,
    /// Neither: counts that describe a pass.
    Neither,
}

/// A comparison of levels of one factor, with all other factors held fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableKind {
    /// The title.
    pub title: String,
    /// The name of the figure.
    pub figure: String,
    /// The factor whose levels are compared.
    pub factor: String,
    /// The level that the others are divided by.
    pub baseline: String,
    /// Only the passes with these levels are in the table; all of them when it is empty.
    pub only: Levels,
    /// What the source says of the same ratios.
    pub document: Vec<DocumentRatio>,
}

impl TableKind {
    /// A table of all passes, of whose ratios the source says nothing.
    pub fn new(title: &str, figure: &str, factor: &str, baseline: &str) -> TableKind {
        let [title, figure, factor, baseline] = [title, figure, factor, baseline].map(str::to_owned);
        TableKind { title, figure, factor, baseline, only: Levels::new(), document: Vec::new() }
    }
}

/// Two figures that are drawn against each other: each level of a factor is a point of a line, in the order of its levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurveKind {
    /// The title.
    pub title: String,
    /// The factor that is raised step by step, such as the load.
    pub factor: String,
    /// The name of the figure to the right, such as the throughput.
    pub x: String,
    /// The name of the figure upwards, such as a latency.
    pub y: String,
}

/// A ratio in the source: a level of the table's factor divided by the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentRatio {
    /// The levels of all factors that the source tells apart.
    pub levels: Levels,
    /// The ratio: 2.45 for the source's "+145 %".
    pub ratio: f64,
    /// The figure itself and the baseline's, in the source's unit, where it has them.
    pub figures: Option<[f64; 2]>,
}
