//! `wharf chmod`.

mod mode;

use clap::Args;
use client::{Follow, Url};
use vfs::{FileKind, SetAttributes};

use crate::failure::{Failure, Failures};
use crate::remote::{self, ConnectFlags, Session, set_attributes, umask};
use mode::Mode;

/// Change the permissions of files.
///
/// Goes on with the other files after a failure.
#[derive(Debug, Args)]
pub struct Flags {
    /// Octal, such as 644, or changes as in chmod(1), such as u+x,go-w.
    #[arg(value_name = "MODE")]
    mode: Mode,
    /// The files, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// Change directories and their contents. Symbolic links in them are not followed.
    #[arg(short = 'R', long, visible_short_alias = 'r')]
    recursive: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Changes the permissions.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let umask = umask();
    remote::run(async {
        let mut failures = Failures::default();
        for url in &flags.urls {
            let result = change(url, flags, umask, &mut failures).await;
            failures.go_on(result)?;
        }
        failures.finish()
    })
}

async fn change(url: &Url, flags: &Flags, umask: u32, failures: &mut Failures) -> Result<(), Failure> {
    let session = Session::open(url, &flags.connect).await?;
    let top = session.find(Follow::Links).await?;
    set_attributes((&session, top), flags.recursive, failures, |old| {
        let mode = flags.mode.of(old, umask);
        (old.kind != FileKind::Symlink).then_some(SetAttributes { mode: Some(mode), ..SetAttributes::default() })
    })
    .await
}
