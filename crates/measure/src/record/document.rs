use serde::{Deserialize, Serialize};

use super::Levels;

/// A figure of the baseline, and of the candidate that is divided by it. Its fields are always named, so that nobody
/// can swap them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BeforeAfter {
    /// The baseline's.
    pub before: f64,
    /// The candidate's.
    pub after: f64,
}

impl BeforeAfter {
    /// The candidate's figure divided by the baseline's.
    pub fn ratio(self) -> f64 {
        self.after / self.before
    }

    /// The same figures with the sides swapped.
    fn swapped(self) -> BeforeAfter {
        BeforeAfter { before: self.after, after: self.before }
    }
}

/// A ratio in the source: a level of the table's factor divided by the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct DocumentRatio {
    /// The levels of all factors that the source distinguishes.
    pub levels: Levels,
    known: Known,
    /// Why it is shown but not compared with ours, if so.
    pub not_compared: Option<String>,
}

/// What the source prints. A ratio is never kept beside figures that could contradict it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    Ratio(f64),
    Figures(BeforeAfter),
}

impl DocumentRatio {
    /// A ratio that the source prints without figures: 2.45 for "+145 %".
    pub fn of_ratio(levels: Levels, ratio: f64) -> DocumentRatio {
        DocumentRatio { levels, known: Known::Ratio(ratio), not_compared: None }
    }

    /// The ratio of two figures of the source, in its unit.
    pub fn of_figures(levels: Levels, figures: BeforeAfter) -> DocumentRatio {
        DocumentRatio { levels, known: Known::Figures(figures), not_compared: None }
    }

    /// The same ratio, shown but not compared with ours, for this reason.
    pub fn not_compared(self, why: &str) -> DocumentRatio {
        DocumentRatio { not_compared: Some(why.to_owned()), ..self }
    }

    /// The ratio.
    pub fn ratio(&self) -> f64 {
        match self.known {
            Known::Ratio(ratio) => ratio,
            Known::Figures(figures) => figures.ratio(),
        }
    }

    /// The figures, where the source has them.
    pub fn figures(&self) -> Option<BeforeAfter> {
        match self.known {
            Known::Ratio(_) => None,
            Known::Figures(figures) => Some(figures),
        }
    }
}

/// A document's ratio in a record.
#[derive(Serialize, Deserialize)]
struct Stored {
    levels: Levels,
    ratio: f64,
    figures: Option<BeforeAfter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_compared: Option<String>,
}

impl From<DocumentRatio> for Stored {
    fn from(document: DocumentRatio) -> Stored {
        let (ratio, figures) = (document.ratio(), document.figures());
        Stored { levels: document.levels, ratio, figures, not_compared: document.not_compared }
    }
}

impl From<Stored> for DocumentRatio {
    /// Records before 28 November 2026 have the figures as a list, some with the candidate's first. The ratio shows
    /// which is which.
    fn from(Stored { levels, ratio, figures, not_compared }: Stored) -> DocumentRatio {
        let distance = |figures: BeforeAfter| (figures.ratio() / ratio).ln().abs();
        let known = match figures {
            None => Known::Ratio(ratio),
            Some(figures) if distance(figures.swapped()) < distance(figures) => Known::Figures(figures.swapped()),
            Some(figures) => Known::Figures(figures),
        };
        DocumentRatio { levels, known, not_compared }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_is_the_candidates_figure_divided_by_the_baselines() {
        let figures = BeforeAfter { before: 77_752.0, after: 93_592.0 };
        let ratio = DocumentRatio::of_figures(Levels::new(), figures).ratio();
        assert!((ratio - 1.204).abs() < 0.001, "{ratio}");
    }
}
