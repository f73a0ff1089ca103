use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use client::{Follow, Url};
use vfs::{FileKind, SetAttributes};

use crate::failure::Failure;
use crate::remote::{self, ConnectFlags, Session, about};

/// Create a hard link or a symbolic link.
#[derive(Debug, Args)]
pub struct Flags {
    /// Create a symbolic link with the text TARGET, which need not exist.
    #[arg(short = 's', long)]
    symbolic: bool,
    /// URL of the existing file, in the same export; with -s, the text of the link.
    #[arg(value_name = "TARGET")]
    target: OsString,
    /// URL of the link to create, such as nfs://host/export/link or host:/export/link.
    #[arg(value_name = "URL", value_parser = remote::url_argument())]
    link: Url,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// What to do where there can be no link.
const NO_LINK: &str = "a hard link cannot lead to another one: copy the file with wharf cp";

/// The mode of a symbolic link, which nothing checks.
const SYMLINK_MODE: u32 = 0o777;

/// Creates the link.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async { if flags.symbolic { symbolic(flags).await } else { hard(flags).await } })
}

async fn symbolic(flags: &Flags) -> Result<(), Failure> {
    let session = Session::open(&flags.link, &flags.connect).await?;
    let (dir, name) = session.find_parent().await?;
    let set = SetAttributes { mode: Some(SYMLINK_MODE), ..SetAttributes::default() };
    let made = session.mount.symlink(&dir.handle, &name, flags.target.as_bytes(), &set).await;
    made.map(drop).map_err(about(session.name()))
}

async fn hard(flags: &Flags) -> Result<(), Failure> {
    let bad = |source| Failure::BadUrl { text: flags.target.to_string_lossy().into_owned(), source };
    let target = remote::parse_url_bytes(&flags.target).map_err(bad)?;
    let (target, link) = Session::open_both(&target, &flags.link, &flags.connect, NO_LINK).await?;
    let file = target.find(Follow::Nothing).await?;
    // Servers do not report which of the two names they refuse.
    if file.attributes.kind == FileKind::Directory {
        return Err(Failure::OneName { file: target.name() });
    }
    let (dir, name) = link.find_parent().await?;
    link.mount.link(&file.handle, &dir.handle, &name).await.map_err(about(link.name()))
}
