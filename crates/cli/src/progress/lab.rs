use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use lab::engine::Event;
use measure::analysis::Detectable;
use measure::record::{Measurement, Run};

/// How far an experiment is: a line on a terminal, and elsewhere a line of the log now and then.
pub struct LabProgress {
    bar: ProgressBar,
    name: String,
    /// The figure that is shown of each pass, and its unit.
    figure: (String, String),
    run: Run,
    told_at: Cell<Option<Instant>>,
}

/// How often there is a line where there is no terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

impl LabProgress {
    /// Begins to show a run.
    pub fn start(run: &Run) -> LabProgress {
        let style = ProgressStyle::with_template("{bar:10} {pos}/{len}  {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let figure = run.design.tables.first().map_or("", |table| &table.figure);
        let unit = run.design.figures.iter().find(|kind| kind.name == figure).map_or("", |kind| &kind.unit);
        LabProgress {
            bar: ProgressBar::new(0).with_style(style),
            name: run.design.name.clone(),
            figure: (figure.to_owned(), unit.to_owned()),
            run: run.clone(),
            told_at: Cell::new(None),
        }
    }

    /// Shows what happened.
    pub fn hear(&self, event: &Event<'_>) {
        match event {
            Event::Passed { measurement, done, total, left } => {
                self.bar.set_length(u64::from(*total));
                self.bar.set_position(u64::from(*done));
                let left = HumanDuration(Duration::from_secs(left.as_secs_f64().round() as u64));
                let message = format!("{left:#} left  {}: {}", self.name, self.pass(measurement));
                match self.bar.is_hidden() {
                    true if self.is_due() || done == total => eprintln!("wharf: {done}/{total}  {message}"),
                    true => {}
                    false => self.bar.set_message(message),
                }
            }
            Event::Resumed { passes } => {
                self.tell(&format!("{}: resuming after {passes} completed passes", self.name));
            }
            Event::RoundBegins { round } => {
                self.bar.set_message(format!("{}: servers start for round {round}", self.name));
            }
            Event::Detectable { round, found: Detectable { median, most } } => {
                let [median, most] = [median, most].map(|ratio| (ratio - 1.0) * 100.0);
                self.tell(&format!(
                    "{}: pairs of the first {round} rounds differ so much that effects below ±{median:.1} % will be \
                     invisible in half of the ratios, and below ±{most:.1} % in the least precise one",
                    self.name
                ));
            }
            Event::Precision { round, widest: Some(widest) } => {
                let percent = widest * 100.0;
                self.tell(&format!("{}: after {round} rounds the widest interval is ±{percent:.1} %", self.name));
            }
            _ => {}
        }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn tell(&self, line: &str) {
        self.bar.suspend(|| eprintln!("wharf: {line}"));
    }

    fn is_due(&self) -> bool {
        let is_due = self.told_at.get().is_none_or(|told| told.elapsed() >= LOG_INTERVAL);
        if is_due {
            self.told_at.set(Some(Instant::now()));
        }
        is_due
    }

    fn pass(&self, pass: &Measurement) -> String {
        let levels: Vec<&str> = pass.levels.values().map(String::as_str).collect();
        let (name, unit) = &self.figure;
        let found = match (&pass.failure, pass.figures.get(name)) {
            (Some(reason), _) => format!("failed: {reason}"),
            (None, Some(figure)) => format!("{figure:.1} {unit}"),
            (None, None) => "done".to_owned(),
        };
        let again = match (pass.is_repeated, self.run.is_disturbed(&pass.disturbance)) {
            (true, _) => ", disturbed, again",
            (false, true) if pass.failure.is_none() => ", disturbed in the last try too",
            (false, _) => "",
        };
        format!("round {} of {}, {}: {found}{again}", pass.place.round, self.run.rounds, levels.join(", "))
    }
}
