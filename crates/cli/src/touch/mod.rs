//! `wharf touch`.

mod time;

use clap::Args;
use client::{Entry, Follow, Status, Url};
use vfs::{CreateMode, SetAttributes, SetTime, Timestamp};

use crate::failure::{Failure, Failures};
use crate::remote::{self, ConnectFlags, Session, about, new_file_mode};

/// Set the times of files, and create missing ones.
///
/// Without a time, the server sets its own. Goes on with the other files after a failure.
#[derive(Debug, Args)]
pub struct Flags {
    /// The files, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// Set the time of access only.
    #[arg(short = 'a')]
    accessed: bool,
    /// Set the time of modification only.
    #[arg(short = 'm')]
    modified: bool,
    /// Do not create missing files.
    #[arg(short = 'c', long)]
    no_create: bool,
    /// Use the times of this file.
    #[arg(short = 'r', long, value_name = "URL", value_parser = remote::url_argument())]
    reference: Option<Url>,
    /// Use this time: '2026-11-27 14:00:00', with T, a fraction or an offset such as +01:00, a date alone, or @SECONDS
    /// since 1970. Without an offset it is UTC, as in ls -l.
    #[arg(short = 'd', long, value_name = "TIME", value_parser = time::parse, conflicts_with = "reference")]
    date: Option<Timestamp>,
    /// Use this time in UTC: `[[CC]YY]MMDDhhmm[.ss]`.
    #[arg(short = 't', value_name = "STAMP", value_parser = time::parse_stamp, conflicts_with_all = ["reference", "date"])]
    stamp: Option<Timestamp>,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Sets the times.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let mode = new_file_mode();
    remote::run(async {
        let set = flags.times().await?;
        let mut failures = Failures::default();
        for url in &flags.urls {
            failures.go_on(touch(url, flags, mode, &set).await)?;
        }
        failures.finish()
    })
}

async fn touch(url: &Url, flags: &Flags, mode: u32, set: &SetAttributes) -> Result<(), Failure> {
    let session = Session::open(url, &flags.connect).await?;
    let Some(file) = find_or_create(&session, flags.no_create, mode).await? else { return Ok(()) };
    session.mount.setattr(&file.handle, set).await.map(drop).map_err(about(session.name()))
}

/// Finds a file, or creates it; `None` if it is missing and stays so.
pub async fn find_or_create(session: &Session, no_create: bool, mode: u32) -> Result<Option<Entry>, Failure> {
    match session.mount.walk(&session.below(), Follow::Links).await {
        Ok(found) => return Ok(Some(found)),
        Err(error) if error.status() != Some(Status::NoEntry) => return Err(about(session.name())(error)),
        Err(_) if no_create => return Ok(None),
        Err(_) => {}
    }
    let (dir, name) = session.find_parent().await?;
    let set = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
    // One that another client has made meanwhile does as well.
    let made = session.mount.create(&dir.handle, &name, CreateMode::Unchecked, &set).await;
    made.map(Some).map_err(about(session.name()))
}

impl Flags {
    async fn times(&self) -> Result<SetAttributes, Failure> {
        let (accessed, modified) = match (&self.reference, self.date.or(self.stamp)) {
            (Some(url), _) => {
                let session = Session::open(url, &self.connect).await?;
                let found = session.find(Follow::Links).await?.attributes;
                (SetTime::To(found.accessed), SetTime::To(found.modified))
            }
            (None, Some(time)) => (SetTime::To(time), SetTime::To(time)),
            (None, None) => (SetTime::Now, SetTime::Now),
        };
        let both = self.accessed == self.modified;
        Ok(SetAttributes {
            accessed: (both || self.accessed).then_some(accessed),
            modified: (both || self.modified).then_some(modified),
            ..SetAttributes::default()
        })
    }
}
