//! netperf's `-i` and `-I` on the command line.

use std::str::FromStr;

/// `MIN,MAX`: how many rounds there are at the least and at the most; in any order, as netperf has the greater one
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
}

/// `LEVEL,WIDTH`: how sure an interval is, and how wide it may be, both in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Width {
    /// How sure: 0.95 for 95.
    pub level: f64,
    /// Half of the width, as a share of the figure: 0.025 for 5.
    pub half_width: f64,
}

/// Why a text is neither.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrecisionError {
    /// No numbers of rounds.
    #[error("MIN,MAX are two numbers of rounds from 6 on, such as 10,30")]
    Rounds,
    /// No level and width.
    #[error("LEVEL,WIDTH are two percentages, such as 95,5 for intervals of 95 % that are 5 % wide (±2.5 %)")]
    Width,
}

/// The fewest pairs that give an interval.
const MIN_ROUNDS: u32 = 6;

impl FromStr for Rounds {
    type Err = PrecisionError;

    fn from_str(text: &str) -> Result<Rounds, PrecisionError> {
        let numbers = text.split_once(',').and_then(|(one, other)| Some((one.parse().ok()?, other.parse().ok()?)));
        let (one, other): (u32, u32) = numbers.ok_or(PrecisionError::Rounds)?;
        let rounds = Rounds { min: one.min(other), max: one.max(other) };
        if rounds.min >= MIN_ROUNDS { Ok(rounds) } else { Err(PrecisionError::Rounds) }
    }
}

impl FromStr for Width {
    type Err = PrecisionError;

    fn from_str(text: &str) -> Result<Width, PrecisionError> {
        let numbers = text.split_once(',').and_then(|(level, width)| Some((level.parse().ok()?, width.parse().ok()?)));
        let (level, width): (f64, f64) = numbers.ok_or(PrecisionError::Width)?;
        let is_percentage = |number: f64| number > 0.0 && number < 100.0;
        match is_percentage(level) && is_percentage(width) {
            true => Ok(Width { level: level / 100.0, half_width: width / 200.0 }),
            false => Err(PrecisionError::Width),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_come_in_any_order_and_are_enough_for_an_interval() {
        let expected = Ok(Rounds { min: 10, max: 30 });
        assert_eq!(("10,30".parse(), "30,10".parse()), (expected.clone(), expected));
        for wrong in ["10", "5,30", "a,b", ""] {
            assert_eq!(wrong.parse::<Rounds>(), Err(PrecisionError::Rounds), "{wrong}");
        }
    }

    #[test]
    fn width_is_that_of_the_whole_interval() {
        assert_eq!("99,5".parse(), Ok(Width { level: 0.99, half_width: 0.025 }));
        for wrong in ["99", "0,5", "100,5", "95,0", "x,5"] {
            assert_eq!(wrong.parse::<Width>(), Err(PrecisionError::Width), "{wrong}");
        }
    }
}
