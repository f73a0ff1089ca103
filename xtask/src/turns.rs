//! Programs that take turns, round by round, each pinned to processors of its own, and what their figures are to each other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use measure::{Comparison, Error, Level, Margin, Samples};
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

/// What the order of turns follows from.
const SEED: u64 = 1;

/// What all contenders gave, in the order of the rounds.
pub struct Turns {
    names: Vec<&'static str>,
    /// The place of the one that each is divided by.
    beside: Vec<usize>,
    /// Of each round, what each contender gave.
    rounds: Vec<Vec<Figures>>,
}

impl Turns {
    /// Lets each contender run once a round, in random order.
    pub fn take(contenders: &[Contender<'_>], rounds: usize) -> Outcome<Turns> {
        let mut turns = Turns {
            names: contenders.iter().map(|contender| contender.name).collect(),
            beside: contenders.iter().map(|contender| contender.beside).collect(),
            rounds: Vec::new(),
        };
        for round in 0..rounds {
            let mut figures = vec![Figures::new(); contenders.len()];
            for turn in measure::shuffled(SEED, round as u64, contenders.len()) {
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
        println!("{}", self.table(columns, kind)?);
        Ok(())
    }

    fn table(&self, columns: &[Column], kind: &str) -> Outcome<String> {
        let titles: String = columns.iter().map(|column| format!(" {} | ÷ {kind} |", column.title)).collect();
        let mut text = format!("| |{titles}\n| --- |{}\n", " ---: | ---: |".repeat(columns.len()));
        let places: Vec<(usize, &Column)> =
            (0..self.names.len()).flat_map(|place| columns.iter().map(move |column| (place, column))).collect();
        let compared = places.iter().filter(|(place, _)| self.beside[*place] != *place);
        let family: Vec<_> = compared.map(|(place, column)| self.comparison(*place, column)).collect();
        let mut ratios = report::ratios(&family, Margin::TWO_PERCENT).into_iter();
        for (place, name) in self.names.iter().enumerate() {
            text += &format!("| {name} |");
            for column in columns {
                let has_ratio = self.beside[place] != place;
                let ratio = if has_ratio { ratios.next().unwrap_or_default() } else { String::new() };
                text += &format!(" {} | {ratio} |", self.median(place, column)?);
            }
            text.push('\n');
        }
        Ok(text)
    }

    fn comparison(&self, place: usize, column: &Column) -> Result<Comparison, Error> {
        let [mine, theirs] = [place, self.beside[place]].map(|place| self.series(place, column.figure));
        Comparison::paired(&theirs, &mine, Level::P95)
    }

    fn median(&self, place: usize, column: &Column) -> Outcome<String> {
        let samples = Samples::new(self.series(place, column.figure))?;
        let median = rounded(samples.median());
        Ok(match samples.median_interval(Level::P95) {
            Ok(found) => format!("{median} [{}, {}]", rounded(found.interval.low), rounded(found.interval.high)),
            Err(_) => median,
        })
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
            "seed": SEED,
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
        let turns = Turns::take(&[contender("a"), contender("b")], 6).unwrap();
        assert_eq!(turns.series(1, "x"), [98.0; 6]);
        let text = turns.table(&[Column { figure: "x", title: "x" }], "a").unwrap();
        assert!(text.contains("| a | 97.00 [97.00, 97.00] |  |"), "{text}");
        assert!(text.contains("| b | 98.00 [98.00, 98.00] | 1.01 [1.01, 1.01] ±0.0 %, n 6, equal"), "{text}");
        drop(turns);
        let order = order.into_inner();
        let firsts: String = order.chars().step_by(2).collect();
        assert!(order.len() == 12 && firsts.contains('a') && firsts.contains('b'), "{order}");
    }
}
