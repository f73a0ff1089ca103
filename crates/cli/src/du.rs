use std::collections::HashSet;
use std::io::Write;

use clap::Args;
use client::{Follow, Url};
use serde::Serialize;
use vfs::{Attributes, FileKind};

use crate::failure::{Failure, Failures};
use crate::output::Output;
use crate::remote::{self, ConnectFlags, Node, Session, Shown, Step, Walk, human_bytes};

/// Show the space that directories take.
///
/// A file with several names counts once. Goes on after a failure.
#[derive(Debug, Args)]
pub struct Flags {
    /// The directories or files, such as nfs://host/export/dir or host:/export/dir.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// Show only a total for each URL.
    #[arg(short = 's', long, conflicts_with_all = ["all", "max_depth"])]
    summarize: bool,
    /// Show files, not just directories.
    #[arg(short = 'a', long)]
    all: bool,
    /// Show only what is at most N directories below each URL.
    #[arg(short = 'd', long, value_name = "N")]
    max_depth: Option<usize>,
    /// Show sizes with units, in powers of 1024. [default: in KiB]
    #[arg(short = 'h', long)]
    human_readable: bool,
    /// Count the lengths of files in bytes, not the space that they take.
    #[arg(short = 'b', long)]
    bytes: bool,
    /// Show a total of all URLs.
    #[arg(short = 'c', long)]
    total: bool,
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
struct SizeRecord {
    path: String,
    bytes: u64,
}

/// The size of a block in the output.
const BLOCK_BYTES: u64 = 1024;

/// Shows the space.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        let (output, shown, linked) = (Output::new(), Shown::on_stdout(), HashSet::new());
        let mut counter =
            Counter { flags, output, shown, records: Vec::new(), linked, total: 0, failures: Failures::default() };
        for url in &flags.urls {
            let counted = counter.count(url).await;
            counter.failures.go_on(counted)?;
        }
        counter.finish()
    })
}

struct Counter<'f> {
    flags: &'f Flags,
    output: Output,
    shown: Shown,
    records: Vec<SizeRecord>,
    /// Files with several names that were counted.
    linked: HashSet<(u64, u64)>,
    total: u64,
    failures: Failures,
}

impl Counter<'_> {
    async fn count(&mut self, url: &Url) -> Result<(), Failure> {
        let session = Session::open(url, &self.flags.connect).await?;
        let mut walk = Walk::new(&session, session.find(Follow::Nothing).await?);
        // The sums of the directories from the top to the current one, and of everything.
        let mut sums = vec![0];
        while let Some(step) = walk.next().await {
            let (node, bytes, is_wanted) = match step {
                Step::Enter(node) => {
                    sums.push(self.bytes_of(&node.entry.attributes).unwrap_or(0));
                    continue;
                }
                Step::Leave(node) => (node, sums.pop().unwrap_or(0), true),
                Step::File(node) => {
                    let Some(bytes) = self.bytes_of(&node.entry.attributes) else { continue };
                    let is_wanted = self.flags.all || node.depth == 0;
                    (node, bytes, is_wanted)
                }
                Step::Unseen(_, _, failure) | Step::Failed(failure) => {
                    self.failures.go_on(Err(failure))?;
                    continue;
                }
            };
            if let Some(sum) = sums.last_mut() {
                *sum += bytes;
            }
            let most = if self.flags.summarize { 0 } else { self.flags.max_depth.unwrap_or(usize::MAX) };
            if is_wanted && node.depth <= most {
                self.show(&node, bytes)?;
            }
        }
        self.total += sums[0];
        Ok(())
    }

    /// What a file takes; `None` if it was counted under another name.
    fn bytes_of(&mut self, file: &Attributes) -> Option<u64> {
        let is_linked = file.links > 1 && file.kind != FileKind::Directory;
        if is_linked && !self.linked.insert((file.fsid, file.fileid)) {
            return None;
        }
        Some(if self.flags.bytes { file.size_bytes } else { file.used_bytes })
    }

    fn show(&mut self, node: &Node, bytes: u64) -> Result<(), Failure> {
        if self.flags.json {
            self.records.push(SizeRecord { path: String::from_utf8_lossy(&node.path).into_owned(), bytes });
            return Ok(());
        }
        let path = self.shown.bytes(&node.path).into_owned();
        self.line(bytes, &path)
    }

    fn line(&mut self, bytes: u64, path: &[u8]) -> Result<(), Failure> {
        let size = match (self.flags.human_readable, self.flags.bytes) {
            (true, _) => human_bytes(bytes),
            (false, true) => bytes.to_string(),
            (false, false) => bytes.div_ceil(BLOCK_BYTES).to_string(),
        };
        write!(self.output, "{size}\t")?;
        self.output.write_all(path)?;
        Ok(writeln!(self.output)?)
    }

    fn finish(mut self) -> Result<(), Failure> {
        if self.flags.json {
            self.output.json(&self.records)?;
        } else if self.flags.total {
            self.line(self.total, b"total")?;
        }
        self.output.finish()?;
        self.failures.finish()
    }
}
