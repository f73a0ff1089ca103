//! How fast a directory can be listed with attributes and handles when nothing else is done.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{Failure, Outcome};

/// What was found in so long.
pub struct Found {
    entries: u64,
    listings: u64,
    elapsed: Duration,
}

/// Shown as fields that are read with a load generator's.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        let (entries, listings) = (self.entries as f64 / seconds, self.listings as f64 / seconds);
        write!(f, "entries/s={entries:.1}\tlistings/s={listings:.2}")
    }
}

/// Lists the directory again and again.
pub fn run(directory: &Path, seconds: f64) -> Outcome<Found> {
    let failed = |source| Failure::File { path: directory.to_owned(), source };
    let opened = File::open(directory).map_err(failed)?;
    let limit = Duration::from_secs_f64(seconds);
    let began = Instant::now();
    let mut found = Found { entries: 0, listings: 0, elapsed: Duration::ZERO };
    while found.elapsed < limit {
        found.entries += fs_host::survey(&opened).map_err(failed)?;
        found.listings += 1;
        found.elapsed = began.elapsed();
    }
    Ok(found)
}
