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
    fn fences_are_multiples_of_the_range_between_the_quartiles() {
        // The quartiles are 100 and 104: the upper fences are at 110 and 116.
        let severities = |value: f64| {
            let figures = vec![99.0, 100.0, 100.0, 101.0, 102.0, 103.0, 104.0, 104.0, value];
            let outliers = Samples::new(figures).unwrap().outliers();
            outliers.iter().map(|outlier| outlier.severity).collect::<Vec<_>>()
        };
        assert_eq!(severities(109.8), []);
        assert_eq!((severities(110.2), severities(115.8)), (vec![Severity::Mild], vec![Severity::Mild]));
        assert_eq!(severities(116.2), [Severity::Severe]);
    }

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
