use super::{Results, Row};
use crate::record::DocumentRatio;
use crate::{Comparison, Margin, Verdict};

/// How our ratio compares with that of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    /// It is not compared: a model computed ours, or the document's has a reason against it.
    NotCompared,
    /// The document's ratio lies inside our interval, which is narrow enough to matter.
    Inside,
    /// It lies inside, but so would many others: the interval is too wide to say anything, or there is none.
    TooWide,
    /// It lies outside.
    Outside,
}

impl Agreement {
    /// Compares our interval, which is not corrected for the number of ratios, with a document's ratio.
    ///
    /// The interval is narrow enough if its half-width is at most half of the document's difference, or the margin
    /// where that is more. Then ours is at least 0 and at most twice the document's difference, as logarithms.
    pub(super) fn of(comparison: &Comparison, document: f64, margin: Margin) -> Agreement {
        let most = (document.ln().abs() / 2.0).max(margin.get().ln_1p());
        match comparison.ratio.interval.contains(document) {
            false => Agreement::Outside,
            true if comparison.half_width().ln_1p() <= most => Agreement::Inside,
            true => Agreement::TooWide,
        }
    }

    /// That of a row with a document's ratio.
    pub(super) fn of_row(row: &Row, document: &DocumentRatio, margin: Margin) -> Agreement {
        if row.verdict == Verdict::Computed || document.not_compared.is_some() {
            return Agreement::NotCompared;
        }
        row.comparison.as_ref().map_or(Agreement::TooWide, |found| Agreement::of(found, document.ratio(), margin))
    }
}

impl Results {
    /// The agreement with each ratio of the source. A ratio that several rows are compared with counts once, by the row
    /// that agrees least.
    pub fn agreements(&self) -> Vec<Agreement> {
        self.tables.iter().flat_map(|rows| of_table(rows)).collect()
    }
}

fn of_table(rows: &[Row]) -> Vec<Agreement> {
    let mut found: Vec<(&DocumentRatio, Agreement)> = Vec::new();
    for (document, agreement) in rows.iter().filter_map(|row| row.document.as_ref().zip(row.agreement)) {
        match found.iter_mut().find(|(known, _)| *known == document) {
            Some((_, worst)) => *worst = agreement.max(*worst),
            None => found.push((document, agreement)),
        }
    }
    found.into_iter().map(|(_, agreement)| agreement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    /// How a ratio with a half-width of about `share` compares with a document's.
    fn of(ratio: f64, share: f64, document: f64) -> Agreement {
        // Student's factor of six pairs, by the square root of six: the deviation of 1, -1, ... is 1.0954.
        let step = (1.0 + share).ln() / (2.570_582 * 1.095_445 / 6_f64.sqrt());
        let candidate = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0].map(|sign| ratio * f64::exp(sign * step));
        let found = Comparison::paired(&[1.0; 6], &candidate, Level::P95).unwrap();
        assert!((found.half_width() - share).abs() < 1e-4, "{found:?}");
        Agreement::of(&found, document, Margin::TWO_PERCENT)
    }

    #[test]
    fn ratio_of_a_document_is_inside_outside_or_beyond_what_the_interval_can_tell() {
        assert_eq!(of(1.15, 0.05, 1.13), Agreement::Inside);
        assert_eq!(of(1.15, 0.05, 1.22), Agreement::Outside);
        // The same direction is no agreement.
        assert_eq!(of(1.76, 0.1, 28.0), Agreement::Outside);
        // Half of +13 % is less than the half-width, so that no difference could be inside as well.
        assert_eq!(of(1.15, 0.1, 1.13), Agreement::TooWide);
        // No difference needs an interval within the margin.
        assert_eq!(of(1.005, 0.019, 1.0), Agreement::Inside);
        assert_eq!(of(1.005, 0.03, 1.0), Agreement::TooWide);
    }
}
