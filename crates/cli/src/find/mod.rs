//! `wharf find`.

mod condition;
mod pattern;

use std::ffi::OsString;
use std::io::Write;
use std::time::SystemTime;

use clap::Args;
use client::{Detail, Entry, Follow, Url};
use vfs::{Attributes, FileKind, Timestamp};

use crate::failure::{Failure, Failures};
use crate::output::Output;
use crate::remote::{self, ConnectFlags, FileRecord, Node, Session, Shown, Step, Walk, about, last_name};
use condition::{Amount, Kinds};
use pattern::Pattern;

/// Find files by name, kind, size and age.
///
/// Prints the paths of files that meet all conditions. Options of find(1) with one dash, such as -name, work as well.
/// Symbolic links are not followed. Goes on after a failure.
#[derive(Debug, Args)]
pub struct Flags {
    /// The directories to search, such as nfs://host/export/dir or host:/export/dir.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// The name matches this pattern, with *, ? and [a-z].
    #[arg(long, value_name = "PATTERN")]
    name: Option<Pattern>,
    /// The same, and ASCII letters of both cases are alike.
    #[arg(long, value_name = "PATTERN")]
    iname: Option<Pattern>,
    /// It is one of these: f (file), d (directory), l (symbolic link), b, c (devices), p (FIFO), s (socket).
    #[arg(long = "type", value_name = "KINDS")]
    kinds: Option<Kinds>,
    /// It has this size, rounded up to the unit c (bytes), k, M, G or b (512 bytes, the default); +N is more, -N less.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = Amount::parse_size)]
    size: Option<Amount>,
    /// It was modified this many days ago, rounded down; +N is more, -N less.
    #[arg(long, value_name = "DAYS", allow_hyphen_values = true, value_parser = Amount::parse_days)]
    mtime: Option<Amount>,
    /// It was modified later than this file.
    #[arg(long, value_name = "URL", value_parser = remote::url_argument())]
    newer: Option<Url>,
    /// It is a file without bytes or a directory without entries.
    #[arg(long)]
    empty: bool,
    /// Do not search deeper than N directories below the URLs.
    #[arg(long, value_name = "N")]
    maxdepth: Option<usize>,
    /// Show nothing that is less than N directories below the URLs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    mindepth: usize,
    /// Print URLs, for other commands, instead of paths on the server.
    #[arg(long, conflicts_with = "json")]
    url: bool,
    /// Print a zero byte after each path instead of a line break.
    #[arg(long, conflicts_with = "json")]
    print0: bool,
    /// Print all attributes of each file as a JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Turns find(1)'s options, words behind one dash, into those with two dashes. One that is unknown is then reported as
/// a whole.
pub fn command_line(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let arguments: Vec<OsString> = arguments.collect();
    if arguments.get(1).is_none_or(|command| command != "find") {
        return arguments;
    }
    let classic = |argument: &OsString| {
        let name = argument.to_str().and_then(|argument| argument.strip_prefix('-'));
        let is_word = |name: &&str| name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        name.filter(|name| is_word(name) || *name == "print0").map(str::to_owned)
    };
    let translated = arguments.into_iter().filter_map(|argument| match classic(&argument).as_deref() {
        // Printing is what is done anyway.
        Some("print") => None,
        Some(name) => Some(OsString::from(format!("--{name}"))),
        None => Some(argument),
    });
    translated.collect()
}

/// Searches.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        let newer_than = match &flags.newer {
            Some(url) => {
                let session = Session::open(url, &flags.connect).await?;
                Some(session.find(Follow::Links).await?.attributes.modified)
            }
            None => None,
        };
        let (now, shown) = (SystemTime::now().into(), Shown::on_stdout());
        let (output, records, failures) = (Output::new(), Vec::new(), Failures::default());
        let mut search = Search { flags, newer_than, now, output, shown, records, failures };
        for url in &flags.urls {
            let searched = search.search(url).await;
            search.failures.go_on(searched)?;
        }
        search.finish()
    })
}

struct Search<'f> {
    flags: &'f Flags,
    newer_than: Option<Timestamp>,
    now: Timestamp,
    output: Output,
    shown: Shown,
    records: Vec<FileRecord>,
    failures: Failures,
}

impl Search<'_> {
    async fn search(&mut self, url: &Url) -> Result<(), Failure> {
        let session = Session::open(url, &self.flags.connect).await?;
        let mut walk = Walk::new(&session, session.find(Follow::Nothing).await?);
        while let Some(step) = walk.next().await {
            match step {
                Step::Enter(node) => {
                    if self.flags.maxdepth.is_some_and(|most| node.depth >= most) {
                        walk.skip();
                    }
                    self.visit(&session, &node).await?;
                }
                Step::File(node) => self.visit(&session, &node).await?,
                Step::Leave(_) => {}
                Step::Unseen(path, depth, failure) => {
                    self.failures.go_on(Err(failure))?;
                    if self.meets_unseen(&path, depth) {
                        self.show(&session, &path, None)?;
                    }
                }
                Step::Failed(failure) => self.failures.go_on(Err(failure))?,
            }
        }
        Ok(())
    }

    async fn visit(&mut self, session: &Session, node: &Node) -> Result<(), Failure> {
        if !self.meets_by_name(&node.path, node.depth) || !self.meets_by_attributes(&node.entry.attributes) {
            return Ok(());
        }
        match self.flags.empty {
            true if !is_empty(session, node).await? => Ok(()),
            _ => self.show(session, &node.path, Some(&node.entry)),
        }
    }

    /// Whether a file whose attributes are unknown meets all conditions. None is met that depends on them.
    fn meets_unseen(&self, path: &[u8], depth: usize) -> bool {
        let Flags { kinds, size, mtime, newer, empty, .. } = self.flags;
        let needs_attributes = kinds.is_some() || size.is_some() || mtime.is_some() || newer.is_some() || *empty;
        !needs_attributes && self.meets_by_name(path, depth)
    }

    fn meets_by_name(&self, path: &[u8], depth: usize) -> bool {
        let Flags { name, iname, mindepth, maxdepth, .. } = self.flags;
        let last = last_name(path);
        depth >= *mindepth
            && maxdepth.is_none_or(|most| depth <= most)
            && name.as_ref().is_none_or(|pattern| pattern.matches(last))
            && iname.as_ref().is_none_or(|pattern| pattern.matches_any_case(last))
    }

    /// Whether a file meets the conditions for its attributes, but that of being empty.
    fn meets_by_attributes(&self, file: &Attributes) -> bool {
        let Flags { kinds, size, mtime, .. } = self.flags;
        let age_days = (self.now.seconds - file.modified.seconds).div_euclid(86_400);
        kinds.as_ref().is_none_or(|kinds| kinds.contains(file.kind))
            && size.is_none_or(|size| size.matches(i64::try_from(file.size_bytes).unwrap_or(i64::MAX)))
            && mtime.is_none_or(|age| age.matches(age_days))
            && self.newer_than.is_none_or(|time| {
                (file.modified.seconds, file.modified.nanoseconds) > (time.seconds, time.nanoseconds)
            })
    }

    fn show(&mut self, session: &Session, path: &[u8], entry: Option<&Entry>) -> Result<(), Failure> {
        if self.flags.json {
            self.records.push(FileRecord::new(path, entry, None));
            return Ok(());
        }
        match self.flags.url {
            true => self.output.write_all(session.url_of(path).as_bytes())?,
            false => self.output.write_all(&self.shown.bytes(path))?,
        }
        Ok(self.output.write_all(if self.flags.print0 { b"\0" } else { b"\n" })?)
    }

    fn finish(mut self) -> Result<(), Failure> {
        if self.flags.json {
            self.output.json(&self.records)?;
        }
        self.output.finish()?;
        self.failures.finish()
    }
}

async fn is_empty(session: &Session, node: &Node) -> Result<bool, Failure> {
    match node.entry.attributes.kind {
        FileKind::Regular => Ok(node.entry.attributes.size_bytes == 0),
        FileKind::Directory => {
            let mut listing = session.mount.read_dir(&node.entry.handle, Detail::Names);
            Ok(listing.next().await.map_err(about(session.name_of(&node.path)))?.is_none())
        }
        _ => Ok(false),
    }
}
