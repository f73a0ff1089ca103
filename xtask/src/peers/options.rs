use std::path::PathBuf;

use crate::{Failure, Outcome};

/// The word that tells the command that it runs in its own network already.
pub const INSIDE: &str = "--inside";

/// What the command line says.
pub struct Options {
    pub is_inside: bool,
    /// How often each server gets each load. Six is the least that gives an interval of 95 % to a median.
    pub rounds: u32,
    /// How long each load is measured, in seconds; half a second before that does not count.
    pub seconds: u32,
    /// How long a run waits for a quiet machine, in seconds; then it goes on and shows what others took.
    pub wait: u32,
    /// A load generator beside `wharf bench`, which speaks on the options of `nfsload`.
    pub nfsload: Option<PathBuf>,
    /// A part of the names of the loads that are wanted, instead of all; what they are held against comes too.
    pub load: Option<String>,
    /// Where to write every sample, as JSON.
    pub samples: Option<PathBuf>,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Outcome<Options> {
        let mut options =
            Options { is_inside: false, rounds: 6, seconds: 3, wait: 10, nfsload: None, load: None, samples: None };
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            if name == INSIDE {
                options.is_inside = true;
                continue;
            }
            let value = rest.next().ok_or_else(|| Failure::Usage(format!("{name} needs a value")))?;
            match name.as_str() {
                "--rounds" => options.rounds = number(name, value)?,
                "--seconds" => options.seconds = number(name, value)?,
                "--wait" => options.wait = number(name, value)?,
                "--nfsload" => options.nfsload = Some(value.into()),
                "--load" => options.load = Some(value.clone()),
                "--samples" => options.samples = Some(value.into()),
                _ => return Err(Failure::Usage(format!("{name} is no option of bench-peers"))),
            }
        }
        Ok(options)
    }
}

fn number(name: &str, value: &str) -> Outcome<u32> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Failure::Usage(format!("{name} {value}: a number from 1 on is wanted")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Outcome<Options> {
        Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_come_in_any_order_and_wrong_ones_are_named() {
        let options = parse("--seconds 2 --inside --nfsload /x/nfsload --rounds 9").unwrap();
        assert_eq!((options.rounds, options.seconds, options.is_inside), (9, 2, true));
        assert_eq!(options.nfsload, Some("/x/nfsload".into()));
        for (words, complaint) in [("--rounds", "needs a value"), ("--rounds 0", "from 1 on"), ("--x 1", "--x is no")] {
            let failure = parse(words).err().unwrap().to_string();
            assert!(failure.contains(complaint), "{failure}");
        }
    }
}
