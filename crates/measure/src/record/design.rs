use serde::{Deserialize, Serialize};

use super::{DocumentRatio, Goal, Levels};

/// The design of an experiment: its question, factors and figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// The name on the command line.
    pub name: String,
    /// The question, in a sentence.
    pub question: String,
    /// The source of figures to compare with: a document, or nothing.
    pub source: Option<String>,
    /// The factors; the last one varies fastest in tables.
    pub factors: Vec<Factor>,
    /// The factor whose levels run in pairs: each level runs right before or after the first one.
    pub contenders: String,
    /// A repetition of the first level of [`Design::contenders`]: a difference between the two is an error of the
    /// experiment.
    pub control: Option<String>,
    /// What each pass measures.
    pub figures: Vec<FigureKind>,
    /// What is compared.
    pub tables: Vec<TableKind>,
    /// Figures to draw against each other, such as latency against throughput.
    #[serde(default)]
    pub curves: Vec<CurveKind>,
    /// The values that figures have to reach.
    #[serde(default)]
    pub goals: Vec<Goal>,
    /// Differences between this set-up and the source's.
    pub differences: Vec<String>,
    /// What is omitted here, and why.
    pub skipped: Vec<String>,
}

impl Design {
    /// Whether passes at these levels compute their figures instead of measuring them.
    pub fn is_computed(&self, levels: &Levels) -> bool {
        let is_of = |factor: &Factor| levels.get(&factor.name).is_some_and(|level| factor.computed.contains(level));
        self.factors.iter().any(is_of)
    }
}

/// Something that varies between passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Its name, unique in its design.
    pub name: String,
    /// Its levels, in the order of tables.
    pub levels: Vec<String>,
    /// The levels whose passes compute their figures in a model. They vary by nothing but seeds, so their ratios get no
    /// test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub computed: Vec<String>,
}

impl Factor {
    /// A factor with its levels, in the order of tables.
    pub fn new(name: &str, levels: Vec<String>) -> Factor {
        Factor { name: name.to_owned(), levels, computed: Vec::new() }
    }

    /// The same factor; passes at these levels compute their figures.
    pub fn computing(self, levels: impl IntoIterator<Item = String>) -> Factor {
        Factor { computed: levels.into_iter().collect(), ..self }
    }
}

/// A figure that every pass has, unless it does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureKind {
    /// Its name, unique in its design.
    pub name: String,
    /// Its unit, such as `MB/s`.
    pub unit: String,
    /// The direction of improvement.
    pub better: Better,
}

impl FigureKind {
    /// A figure with its unit.
    pub fn new(name: &str, unit: &str, better: Better) -> FigureKind {
        FigureKind { name: name.to_owned(), unit: unit.to_owned(), better }
    }
}

/// The direction of improvement of a figure.
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

/// A table: compares levels of one factor, with all other factors fixed.
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
    /// Restricts the table to passes with these levels; empty for all.
    pub only: Levels,
    /// Ratios from the source.
    pub document: Vec<DocumentRatio>,
}

impl TableKind {
    /// A table of all passes, without ratios from the source.
    pub fn new(title: &str, figure: &str, factor: &str, baseline: &str) -> TableKind {
        let [title, figure, factor, baseline] = [title, figure, factor, baseline].map(str::to_owned);
        TableKind { title, figure, factor, baseline, only: Levels::new(), document: Vec::new() }
    }
}

/// Two figures to draw against each other. Each level of a factor is a point of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurveKind {
    /// The title.
    pub title: String,
    /// The factor that increases step by step, such as the load.
    pub factor: String,
    /// The figure on the horizontal axis, such as the throughput.
    pub x: String,
    /// The figure on the vertical axis, such as a latency.
    pub y: String,
}
