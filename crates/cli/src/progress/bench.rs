use std::sync::Arc;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use lab::bench::{Observer, Progress};
use measure::record::Direction;
use report::units;

/// Shows the progress of a benchmark on a terminal; draws nothing elsewhere.
pub struct BenchProgress {
    bar: ProgressBar,
}

/// The length of the bar: it moves in thousandths.
const STEPS: u64 = 1000;

impl BenchProgress {
    /// Shows the line once something is measured.
    pub fn start() -> BenchProgress {
        let style = ProgressStyle::with_template("{bar:10} {percent:>3}%  {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        BenchProgress { bar: ProgressBar::new(STEPS).with_style(style) }
    }

    /// Returns an observer of the jobs' progress.
    pub fn watcher(&self) -> Observer<Progress> {
        let bar = self.bar.clone();
        Observer(Arc::new(move |progress: &Progress| {
            if !bar.is_hidden() {
                bar.set_message(message(progress));
                bar.set_position((progress.done * STEPS as f64) as u64);
            }
        }))
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn message(progress: &Progress) -> String {
    let rates = progress.latest.iter().map(|(direction, work, elapsed)| {
        let operations = units::count(work.operations_per_second(*elapsed));
        match direction {
            Direction::Metadata => format!("{} IOPS={operations}", direction.name()),
            _ => {
                let bandwidth = units::bandwidth(work.bytes_per_second(*elapsed));
                format!("{} IOPS={operations} BW={bandwidth}", direction.name())
            }
        }
    });
    let left = HumanDuration(Duration::from_secs(progress.left.as_secs_f64().round() as u64));
    format!("{left:#} left  {}: {}", progress.job, rates.collect::<Vec<_>>().join(", "))
}
