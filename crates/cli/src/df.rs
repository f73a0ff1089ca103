use std::io::Write;

use clap::Args;
use client::{Follow, Url};
use serde::Serialize;
use vfs::Space;

use crate::failure::{Failure, Failures};
use crate::output::Output;
use crate::remote::{self, ConnectFlags, Session, about, display_name, human_bytes};

/// Show the space of file systems.
#[derive(Debug, Args)]
pub struct Flags {
    /// Files or directories on the file systems, such as nfs://host/export or host:/export.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// Show sizes with units, in powers of 1024.
    #[arg(short = 'h', long)]
    human_readable: bool,
    /// Show numbers of files instead of sizes.
    #[arg(short = 'i', long)]
    inodes: bool,
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[command(flatten)]
    connect: ConnectFlags,
}

#[derive(Serialize)]
struct SpaceRecord {
    export: String,
    total_bytes: u64,
    used_bytes: u64,
    available_bytes: u64,
    total_files: u64,
    used_files: u64,
    available_files: u64,
}

/// The size of a block in the output.
const BLOCK_BYTES: u64 = 1024;

/// Shows the space.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        let (mut records, mut failures) = (Vec::new(), Failures::default());
        for url in &flags.urls {
            let found = look(url, flags).await.map(|record| records.push(record));
            failures.go_on(found)?;
        }
        let mut output = Output::new();
        if flags.json {
            output.json(&records)?;
        } else if !records.is_empty() {
            show(&records, flags, &mut output)?;
        }
        output.finish()?;
        failures.finish()
    })
}

async fn look(url: &Url, flags: &Flags) -> Result<SpaceRecord, Failure> {
    let session = Session::open(url, &flags.connect).await?;
    let file = session.find(Follow::Links).await?;
    let space = session.mount.fsstat(&file.handle).await.map_err(about(session.name()))?;
    let export = format!("{}:{}", session.mount.server(), display_name(session.mount.export()));
    Ok(SpaceRecord::new(export, space))
}

impl SpaceRecord {
    fn new(export: String, space: Space) -> SpaceRecord {
        SpaceRecord {
            export,
            total_bytes: space.total_bytes,
            used_bytes: space.total_bytes.saturating_sub(space.free_bytes),
            available_bytes: space.available_bytes,
            total_files: space.total_files,
            used_files: space.total_files.saturating_sub(space.free_files),
            available_files: space.available_files,
        }
    }
}

fn show(records: &[SpaceRecord], flags: &Flags, output: &mut Output) -> Result<(), Failure> {
    let heads = match (flags.inodes, flags.human_readable) {
        (true, _) => ["Files", "Used", "Free", "Use%"],
        (false, true) => ["Size", "Used", "Available", "Use%"],
        (false, false) => ["1K-blocks", "Used", "Available", "Use%"],
    };
    let width = records.iter().map(|record| record.export.chars().count()).max().unwrap_or(0).max("Export".len());
    writeln!(output, "{:<width$} {:>12} {:>12} {:>12} {:>5}", "Export", heads[0], heads[1], heads[2], heads[3])?;
    for record in records {
        let numbers = match flags.inodes {
            true => [record.total_files, record.used_files, record.available_files],
            false => [record.total_bytes, record.used_bytes, record.available_bytes],
        };
        let [total, used, available] = numbers.map(|number| match (flags.inodes, flags.human_readable) {
            (true, _) => number.to_string(),
            (false, true) => human_bytes(number),
            (false, false) => number.div_ceil(BLOCK_BYTES).to_string(),
        });
        let share = share(numbers[1], numbers[2]);
        writeln!(output, "{:<width$} {total:>12} {used:>12} {available:>12} {share:>5}", record.export)?;
    }
    Ok(())
}

/// The used share of what users can use, rounded up as df(1) does.
fn share(used: u64, available: u64) -> String {
    match u128::from(used) + u128::from(available) {
        0 => "-".to_owned(),
        all => format!("{}%", (u128::from(used) * 100).div_ceil(all)),
    }
}
