//! What NFS clients of this program count, as FreeBSD's nfsstat(1) tells it, and more.
//!
//! Clients that last tell it on a socket each, in a folder of their user's; `wharf nfsstat` asks all of them.

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
use ask::{Found, Which};
use document::Figures;
use layout::Extent;
pub use own::{OwnFlags, OwnMounts};
pub use publish::publish;

/// Show what NFS clients of this program have called, and what their caches did.
///
/// The tables are those of FreeBSD's nfsstat; they tell the sum of all mounts of this user (root: of all users), or one of them.
#[derive(Debug, Args)]
pub struct Flags {
    /// A mount point, or the number of a process. [default: all]
    #[arg(value_name = "MOUNT")]
    mount: Option<String>,
    /// What clients count; nothing else is there, so it changes nothing.
    #[arg(short = 'c')]
    client: bool,
    /// What NFSv4.0 has too, and the state that is held.
    #[arg(short = 'e', conflicts_with = "v42")]
    v4: bool,
    /// What NFSv4.0, NFSv4.1 and NFSv4.2 have too, and the state that is held.
    #[arg(short = 'E')]
    v42: bool,
    /// The mounts and their options instead.
    #[arg(short = 'm', long = "mounts", conflicts_with_all = ["operations", "interval", "zero"])]
    mounts: bool,
    /// Each procedure's calls, errors, bytes, and times in microseconds instead.
    #[arg(long)]
    operations: bool,
    /// A line every so many seconds, of what happened in them.
    #[arg(short = 'w', long = "wait", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    interval: Option<u64>,
    /// Shares of hits behind the lines of -w.
    #[arg(short = 'W', requires = "interval")]
    wide: bool,
    /// End after so many intervals. [default: never]
    #[arg(long, value_name = "COUNT", requires = "interval")]
    count: Option<u64>,
    /// Begin at zero after the figures were shown.
    #[arg(short = 'z', conflicts_with = "interval")]
    zero: bool,
    /// The tables without their titles.
    #[arg(short = 'q')]
    quiet: bool,
    /// Everything as JSON, with the histograms of times.
    #[arg(long)]
    json: bool,
}

/// Shows it.
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

fn mounts(output: &mut Output, found: &[Found]) -> Result<(), Failure> {
    for Found { mount, .. } in found {
        writeln!(output, "{} on {}\n{}", mount.from, mount.on, mount.options)?;
    }
    Ok(())
}

/// Prints what happened in each interval, until the last one.
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
