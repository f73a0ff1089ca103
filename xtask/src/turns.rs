//! Programs that take turns, round by round, each pinned to processors of its own, and what their figures are to each other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use measure::{Comparison, Level, Resampling, Samples};
use serde_json::{Value, json};

use crate::peers::machine;
use crate::{Failure, Outcome, command};

/// What a program prints of itself, as words `name=number`.
pub type Figures = BTreeMap<String, f64>;

/// One of those that take turns.
pub struct Contender<'a> {
    pub name: &'static str,
    /// The place of the one that it is divided by: its own if by none.
    pub beside: usize,
    /// Runs once.
    pub run: Box<dyn Fn() -> Outcome<Figures> + 'a>,
}

/// A figure that the contenders are held against each other by.
#[derive(Clone, Copy)]
pub struct Column {
    /// As the contenders print it.
    pub figure: &'static str,
    /// What it is, with its unit.
    pub title: &'static str,
}

/// What all contenders gave, in the order of the rounds.
pub struct Turns {
    names: Vec<&'static str>,
    /// The place of the one that each is divided by.
    beside: Vec<usize>,
    /// Of each round, what each contender gave.
    rounds: Vec<Vec<Figures>>,
}

impl Turns {
    /// Lets each contender run once a round; who is first changes.
    pub fn take(contenders: &[Contender<'_>], rounds: usize) -> Outcome<Turns> {
        let mut turns = Turns {
            names: contenders.iter().map(|contender| contender.name).collect(),
            beside: contenders.iter().map(|contender| contender.beside).collect(),
            rounds: Vec::new(),
        };
        for round in 0..rounds {
            let mut figures = vec![Figures::new(); contenders.len()];
            for turn in measure::rotation(round, contenders.len()) {
                figures[turn] = (contenders[turn].run)()?;
                eprintln!("round {}, {}: {:?}", round + 1, contenders[turn].name, figures[turn]);
            }
            turns.rounds.push(figures);
        }
        Ok(turns)
    }

    /// One contender's figure of every round.
    fn series(&self, contender: usize, figure: &str) -> Vec<f64> {
        self.rounds.iter().map(|round| round[contender].get(figure).copied().unwrap_or(f64::NAN)).collect()
    }

    /// Prints the medians with their intervals, and each contender divided by the one of that `kind` which it is beside.
    pub fn show(&self, columns: &[Column], kind: &str) -> Outcome {
        let titles: String = columns.iter().map(|column| format!(" {} | ÷ {kind} |", column.title)).collect();
        println!("| |{titles}");
        println!("| --- |{}", " ---: | ---: |".repeat(columns.len()));
        for (contender, name) in self.names.iter().enumerate() {
            let cells = columns.iter().map(|column| self.cells(contender, column)).collect::<Outcome<String>>()?;
            println!("| {name} |{cells}");
        }
        Ok(())
    }

    fn cells(&self, contender: usize, column: &Column) -> Outcome<String> {
        let series = self.series(contender, column.figure);
        let samples = Samples::new(series.clone())?;
        let median = match samples.median_interval(Level::P95) {
            Ok(interval) => {
                let interval = interval.interval;
                format!("{} [{}, {}]", rounded(samples.median()), rounded(interval.low), rounded(interval.high))
            }
            Err(_) => rounded(samples.median()),
        };
        let beside = self.beside[contender];
        if beside == contender {
            return Ok(format!(" {median} | |"));
        }
        let baseline = self.series(beside, column.figure);
        let ratio = Comparison::paired(&baseline, &series, Resampling::default())?.ratio_of_medians;
        Ok(format!(" {median} | {:.2} [{:.2}, {:.2}] |", ratio.value, ratio.interval.low, ratio.interval.high))
    }

    /// Writes every sample, with what the machine is.
    pub fn write(&self, root: &Path, path: &Path) -> Outcome {
        let round = |figures: &Vec<Figures>| -> Value {
            self.names.iter().zip(figures).map(|(name, figures)| ((*name).to_owned(), json!(figures))).collect()
        };
        let all = json!({
            "commit": machine::commit(root),
            "kernel": machine::kernel(),
            "processors": thread::available_parallelism().map_or(0, usize::from),
            "rounds": self.rounds.iter().map(round).collect::<Vec<Value>>(),
        });
        let text = serde_json::to_string_pretty(&all)? + "\n";
        fs::write(path, text).map_err(|source| Failure::File { path: path.to_owned(), source })
    }
}

/// Whole numbers from 100 on, and two digits behind the point below.
fn rounded(figure: f64) -> String {
    if figure >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.2}") }
}

/// Runs a program on one processor and reads its figures, all of which must be there.
pub fn figures(processor: &str, program: &Command, wanted: &[&str]) -> Outcome<Figures> {
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", processor]).arg(program.get_program()).args(program.get_args());
    let printed = command::output(pinned)?;
    let text = String::from_utf8_lossy(&printed);
    let figures = parse(&text);
    match wanted.iter().find(|name| !figures.contains_key(**name)) {
        None => Ok(figures),
        Some(name) => Err(Failure::Peer(format!("{:?} printed no {name}: {text}", program.get_program()))),
    }
}

/// The figures among the words of a text.
pub fn parse(text: &str) -> Figures {
    let words = text.split_whitespace().filter_map(|word| word.split_once('='));
    words.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_words_with_numbers() {
        let figures = parse("seen 5 ops/s=12.5 note=none cpu_us/op=3");
        assert_eq!(figures, Figures::from([("ops/s".to_owned(), 12.5), ("cpu_us/op".to_owned(), 3.0)]));
    }

    #[test]
    fn who_is_first_changes_and_figures_stay_with_their_contenders() {
        let order = std::cell::RefCell::new(String::new());
        let contender = |name: &'static str| Contender {
            name,
            beside: 0,
            run: Box::new(|| {
                order.borrow_mut().push_str(name);
                Ok(Figures::from([("x".to_owned(), f64::from(name.as_bytes()[0]))]))
            }),
        };
        let turns = Turns::take(&[contender("a"), contender("b")], 3).unwrap();
        assert_eq!(turns.series(1, "x"), [98.0; 3]);
        let column = Column { figure: "x", title: "x" };
        assert_eq!(turns.cells(0, &column).unwrap(), " 97.00 | |");
        assert!(turns.cells(1, &column).unwrap().contains("| 1.01 ["), "{:?}", turns.cells(1, &column));
        drop(turns);
        assert_eq!(*order.borrow(), "abbaab");
    }
}
