use crate::{Comparison, Margin, Verdict};

/// How our ratio compares with that of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// The document's value is in our interval, and the verdicts on both are the same.
    Value,
    /// Both differ in the same direction, by different amounts.
    Direction,
    /// Both are equal within the margin.
    Equal,
    /// One is equal within the margin, and the other differs.
    Different,
    /// They differ in opposite directions.
    Opposite,
    /// Our ratio is not precise enough.
    Undecided,
}

impl Agreement {
    /// Compares our verdict with a document's ratio.
    pub(super) fn of(comparison: &Comparison, verdict: Verdict, document: f64, margin: Margin) -> Agreement {
        let theirs = direction(document, margin);
        match (verdict, theirs) {
            (Verdict::Undecided, _) => Agreement::Undecided,
            (Verdict::Equal, Verdict::Equal) => Agreement::Equal,
            (ours, theirs) if ours == theirs && comparison.ratio.interval.contains(document) => Agreement::Value,
            (ours, theirs) if ours == theirs => Agreement::Direction,
            (Verdict::Equal, _) | (_, Verdict::Equal) => Agreement::Different,
            _ => Agreement::Opposite,
        }
    }
}

/// The verdict on a ratio that is known exactly.
fn direction(ratio: f64, margin: Margin) -> Verdict {
    let distance = ratio.ln();
    if distance.abs() <= margin.get().ln_1p() {
        Verdict::Equal
    } else if distance.is_sign_positive() {
        Verdict::Higher
    } else {
        Verdict::Lower
    }
}
