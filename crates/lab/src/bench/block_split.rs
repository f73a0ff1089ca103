//! Operations of several sizes, as fio's `bssplit` says it.

use std::fmt;
use std::str::FromStr;

use fastrand::Rng;

/// The sizes of reads and of writes with their shares, as text `4k/60:64k/40` for both or `4k/60:64k/40,8k` for each.
/// Sizes without a percentage have equal parts of the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSplit {
    reads: Vec<Share>,
    writes: Vec<Share>,
}

/// A size, and how many of a hundred operations have it or one in front of it in the list.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Share {
    bytes: u32,
    up_to_percent: f64,
}

/// A text is no split of sizes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' does not split sizes: {problem}; write SIZE/PERCENT:SIZE/PERCENT, such as 4k/60:64k/40")]
pub struct BlockSplitError {
    text: String,
    problem: String,
}

/// The most sizes of one direction, as many as fio takes.
const MAX_SIZES: usize = 64;

impl BlockSplit {
    /// One size for all.
    pub(super) fn of(bytes: u32) -> BlockSplit {
        let only = vec![Share { bytes, up_to_percent: 100.0 }];
        BlockSplit { reads: only.clone(), writes: only }
    }

    /// The size of the next operation.
    pub(super) fn draw(&self, random: &mut Rng, is_write: bool) -> u32 {
        match self.of_direction(is_write) {
            // Jobs with one size take the same random numbers with and without a split.
            [only] => only.bytes,
            shares => {
                let percent = random.f64() * 100.0;
                let drawn = shares.iter().find(|share| percent < share.up_to_percent).or(shares.last());
                drawn.map_or(0, |share| share.bytes)
            }
        }
    }

    /// The sizes of reads or of writes.
    pub(super) fn sizes(&self, is_write: bool) -> impl Iterator<Item = u32> {
        self.of_direction(is_write).iter().map(|share| share.bytes)
    }

    /// The sizes of both.
    pub(super) fn all_sizes(&self) -> impl Iterator<Item = u32> {
        self.sizes(false).chain(self.sizes(true))
    }

    fn of_direction(&self, is_write: bool) -> &[Share] {
        if is_write { &self.writes } else { &self.reads }
    }
}

impl FromStr for BlockSplit {
    type Err = BlockSplitError;

    fn from_str(text: &str) -> Result<BlockSplit, BlockSplitError> {
        let error = |problem| BlockSplitError { text: text.to_owned(), problem };
        let mut directions = text.split(',').map(shares);
        let reads = directions.next().unwrap_or(Ok(Vec::new())).map_err(error)?;
        let writes = directions.next().transpose().map_err(error)?;
        if directions.next().is_some() {
            return Err(error("there are reads and writes, and no third kind".to_owned()));
        }
        Ok(BlockSplit { writes: writes.unwrap_or_else(|| reads.clone()), reads })
    }
}

/// Reads the sizes of one direction.
fn shares(text: &str) -> Result<Vec<Share>, String> {
    let pairs = text.split(':').map(pair).collect::<Result<Vec<_>, String>>()?;
    if pairs.len() > MAX_SIZES {
        return Err(format!("it has {} sizes, and {MAX_SIZES} are possible", pairs.len()));
    }
    let given: u32 = pairs.iter().filter_map(|(_, percent)| *percent).sum();
    let without = pairs.iter().filter(|(_, percent)| percent.is_none()).count();
    let is_whole = if without > 0 { given < 100 } else { given == 100 };
    if !is_whole {
        return Err(format!("its percentages add up to {given}, and 100 are shared out"));
    }
    let rest = f64::from(100 - given) / without.max(1) as f64;
    let add = |sum: &mut f64, (bytes, percent): (u32, Option<u32>)| {
        *sum += percent.map_or(rest, f64::from);
        Some(Share { bytes, up_to_percent: *sum })
    };
    Ok(pairs.into_iter().scan(0.0, add).collect())
}

fn pair(text: &str) -> Result<(u32, Option<u32>), String> {
    let (size, percent) = text.split_once('/').unwrap_or((text, ""));
    let bytes = parse_size::Config::new().with_binary().parse_size(size);
    let bytes = bytes.ok().and_then(|bytes| u32::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| format!("'{size}' is no size below 4 GiB"))?;
    if percent.is_empty() {
        return Ok((bytes, None));
    }
    let number = percent.parse().ok().filter(|percent| (1..=100).contains(percent));
    Ok((bytes, Some(number.ok_or_else(|| format!("'{percent}' is no percentage from 1 to 100"))?)))
}

impl fmt::Display for BlockSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shares(f, &self.reads)?;
        if self.writes != self.reads {
            f.write_str(",")?;
            write_shares(f, &self.writes)?;
        }
        Ok(())
    }
}

fn write_shares(f: &mut fmt::Formatter<'_>, shares: &[Share]) -> fmt::Result {
    let mut before = 0.0;
    for (index, Share { bytes, up_to_percent }) in shares.iter().enumerate() {
        let colon = if index > 0 { ":" } else { "" };
        // A percentage of a shared rest has many digits.
        let percent = ((up_to_percent - before) * 100.0).round() / 100.0;
        write!(f, "{colon}{bytes}/{percent}")?;
        before = *up_to_percent;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> BlockSplit {
        text.parse().unwrap()
    }

    #[test]
    fn every_size_has_its_share_and_those_without_one_the_rest() {
        assert_eq!(split("4k/60:64k/40").to_string(), "4096/60:65536/40");
        assert_eq!(split("4k/50:8k:16k,512").to_string(), "4096/50:8192/25:16384/25,512/100");
        let (mut random, split) = (Rng::with_seed(3), split("4k/10:8k/30:1m/60"));
        let drawn: Vec<u32> = (0..100_000).map(|_| split.draw(&mut random, true)).collect();
        for (bytes, percent) in [(4 << 10, 10.0), (8 << 10, 30.0), (1 << 20, 60.0)] {
            let found = drawn.iter().filter(|drawn| **drawn == bytes).count() as f64 / 1e3;
            assert!((found - percent).abs() < 0.7, "{bytes}: {found}");
        }
    }

    #[test]
    fn split_that_makes_no_sense_is_refused_with_the_reason() {
        for (text, reason) in [
            ("4k/60:64k/30", "add up to 90"),
            ("4k/60:64k/50", "add up to 110"),
            ("4k/100:64k", "add up to 100"),
            ("4k/0:64k", "'0' is no percentage"),
            ("4k/x", "'x' is no percentage"),
            ("4q/50:8k/50", "'4q' is no size"),
            ("8g", "'8g' is no size below"),
            ("", "'' is no size"),
            ("4k,4k,4k", "no third kind"),
        ] {
            let error = text.parse::<BlockSplit>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(vec!["4k"; 65].join(":").parse::<BlockSplit>().unwrap_err().to_string().contains("65 sizes"));
    }
}
