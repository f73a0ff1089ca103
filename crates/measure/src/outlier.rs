use crate::Samples;

/// The severity of an outlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// More than 1.5 interquartile ranges from the quartiles.
    Mild,
    /// More than 3 times.
    Severe,
}

impl Severity {
    /// The minimum number of interquartile ranges (Tukey's inner and outer fence).
    fn fence(self) -> f64 {
        match self {
            Severity::Mild => 1.5,
            Severity::Severe => 3.0,
        }
    }
}

/// A figure far from the others. It is shown, not dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// The index of the figure in the order of measurement, from 0.
    pub index: usize,
    /// The figure.
    pub value: f64,
    /// How far off it is.
    pub severity: Severity,
}

impl Samples {
    /// The figures beyond Tukey's fences, in the order in which they were measured.
    pub fn outliers(&self) -> Vec<Outlier> {
        let (lower, upper) = (self.quantile(0.25), self.quantile(0.75));
        let is_beyond = |value: f64, severity: Severity| {
            let reach = severity.fence() * (upper - lower);
            value < lower - reach || value > upper + reach
        };
        let severity_of = |value| [Severity::Severe, Severity::Mild].into_iter().find(|s| is_beyond(value, *s));
        let all = self.measured().iter().enumerate();
        all.filter_map(|(index, &value)| severity_of(value).map(|severity| Outlier { index, value, severity }))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_beyond_the_fences_are_found_with_their_place() {
        let samples = Samples::new(vec![10.0, 11.0, 30.0, 12.0, 13.0, 14.0, 19.5, 12.0]).unwrap();
        let found = samples.outliers();
        assert_eq!(found, [Outlier { index: 2, value: 30.0, severity: Severity::Severe }]);
        let samples = Samples::new(vec![1.0, 2.0, 3.0, 4.0, 9.0]).unwrap();
        assert_eq!(samples.outliers(), [Outlier { index: 4, value: 9.0, severity: Severity::Mild }]);
    }

    #[test]
    fn equal_figures_have_no_outlier() {
        assert!(Samples::new(vec![5.0; 9]).unwrap().outliers().is_empty());
    }
}
