//! Statistics of NFS clients of this program, in the layout of FreeBSD's nfsstat(1).
//!
//! Each long-running client serves its statistics on a socket in a folder of its user; `wharf nfsstat` asks all of
//! them.

mod ask;
mod document;
mod folder;
#[cfg(test)]
mod identities;
mod intervals;
mod layout;
mod operations;
mod options;
mod own;
mod publish;

use std::io::Write;
use std::thread;
use std::time::Duration;

use clap::Args;
use client::Statistics;

use crate::failure::Failure;
use crate::output::Output;
use ask::{FoundMount, Which};
use document::Figures;
use layout::Extent;
pub use own::{OwnFlags, OwnMounts};
pub use publish::publish;

/// Show statistics of Wharf's NFS clients: requests, errors, cache hits.
///
/// Tables have the layout of FreeBSD's nfsstat. They sum all mounts of this user (root: of all users), or show one of
/// them. The kernel's own NFS mounts are not included.
#[derive(Debug, Args)]
pub struct Flags {
    /// Mount point or process ID. [default: all]
    #[arg(value_name = "MOUNT")]
    mount: Option<String>,
    /// Accepted for compatibility; only clients have statistics here.
    #[arg(short = 'c')]
    client: bool,
    /// Include NFSv4.0 operations, opens, locks and delegations.
    #[arg(short = 'e', conflicts_with = "v42")]
    v4: bool,
    /// Include NFSv4.0, NFSv4.1 and NFSv4.2 operations, opens, locks and delegations.
    #[arg(short = 'E')]
    v42: bool,
    /// List mounts with their options instead.
    #[arg(short = 'm', long = "mounts", conflicts_with_all = ["operations", "interval", "zero"])]
    mounts: bool,
    /// Show calls, errors, bytes and times (in microseconds) of each procedure instead.
    #[arg(long)]
    operations: bool,
    /// Print a line with the activity of each interval of this many seconds.
    #[arg(short = 'w', long = "wait", value_name = "SECONDS", value_parser = parse_seconds)]
    interval: Option<u64>,
    /// With -w: add columns with hit rates.
    #[arg(short = 'W', requires = "interval")]
    wide: bool,
    /// With -w: stop after this many intervals. [default: never]
    #[arg(long, value_name = "COUNT", requires = "interval")]
    count: Option<u64>,
    /// Reset the counters after showing them.
    #[arg(short = 'z', conflicts_with = "interval")]
    zero: bool,
    /// Omit the titles of tables.
    #[arg(short = 'q')]
    quiet: bool,
    /// Print all figures as JSON, with latency histograms.
    #[arg(long)]
    json: bool,
}

fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| "write a whole number of seconds, at least 1".to_owned())
}

/// Shows the statistics.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let which = flags.mount.as_deref().map_or(Which::All, Which::parse);
    let found = ask::ask(&which, flags.zero);
    if found.is_empty() {
        return Err(match &flags.mount {
            Some(mount) => Failure::NoSuchClient { mount: mount.clone() },
            None => Failure::NoClients,
        });
    }
    if let Some(seconds) = flags.interval {
        return watch(flags, &which, Duration::from_secs(seconds));
    }
    let mut output = Output::new();
    if flags.json {
        output.json(&found)?;
    } else if flags.mounts {
        mounts(&mut output, &found)?;
    } else {
        output.write_all(flags.text(&ask::sum(&found)).as_bytes())?;
    }
    Ok(output.finish()?)
}

impl Flags {
    fn text(&self, statistics: &Statistics) -> String {
        match (self.operations, self.v4, self.v42) {
            (true, ..) => operations::text(statistics),
            (_, true, _) => layout::text(statistics, Extent::V4, self.quiet),
            (.., true) => layout::text(statistics, Extent::V42, self.quiet),
            _ => layout::text(statistics, Extent::Basic, self.quiet),
        }
    }
}

fn mounts(output: &mut Output, found: &[FoundMount]) -> Result<(), Failure> {
    for FoundMount { pid, mount, .. } in found {
        writeln!(output, "{} on {} (process {pid})\n{}", mount.from, mount.on, mount.options)?;
    }
    Ok(())
}

/// Prints the activity of each interval, until the last one.
fn watch(flags: &Flags, which: &Which, interval: Duration) -> Result<(), Failure> {
    let (mut last, mut line) = (ask::sum(&ask::ask(which, false)), 0);
    let mut output = Output::new();
    while flags.count.is_none_or(|count| line < count) {
        thread::sleep(interval);
        let now = ask::sum(&ask::ask(which, false));
        let since = now.since(&last);
        if flags.json {
            report::write_json_line(&mut output, &Figures::from(&since)).map_err(std::io::Error::from)?;
            output.write_all(b"\n")?;
        } else if flags.operations {
            output.write_all(operations::text(&since).as_bytes())?;
        } else {
            if line.is_multiple_of(intervals::LINES_PER_HEADER as u64) {
                output.write_all(intervals::header(flags.wide).as_bytes())?;
            }
            output.write_all(intervals::line(&since, flags.wide).as_bytes())?;
        }
        output.flush()?;
        (last, line) = (now, line + 1);
    }
    Ok(output.finish()?)
}
