use clap::Args;
use client::{Entry, Follow, Status, Url};
use vfs::{FileKind, SetAttributes};

use crate::failure::{Failure, Failures};
use crate::remote::{self, ConnectFlags, Session, about, new_dir_mode};

/// Create directories.
#[derive(Debug, Args)]
pub struct Flags {
    /// The directories, such as nfs://host/export/dir or host:/export/dir.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// Create missing parents, and accept existing directories.
    #[arg(short = 'p', long)]
    parents: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Creates the directories.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let set = SetAttributes { mode: Some(new_dir_mode()), ..SetAttributes::default() };
    remote::run(async {
        let mut failures = Failures::default();
        for url in &flags.urls {
            failures.go_on(make(url, flags, &set).await)?;
        }
        failures.finish()
    })
}

async fn make(url: &Url, flags: &Flags, set: &SetAttributes) -> Result<(), Failure> {
    if flags.parents {
        return make_all(&Session::open(url, &flags.connect).await?, set).await;
    }
    let session = Session::open_named(url, &flags.connect).await?;
    let (dir, name) = session.find_parent().await?;
    session.mount.mkdir(&dir.handle, &name, set).await.map(drop).map_err(about(session.name()))
}

/// Creates every missing directory on the path.
async fn make_all(session: &Session, set: &SetAttributes) -> Result<(), Failure> {
    let below = session.below();
    let mut dir = *session.mount.root();
    let mut end = 0;
    for name in below.split(|byte| *byte == b'/') {
        end += name.len() + 1;
        if !matches!(name, b"" | b".") {
            dir = make_one(session, &dir, name, &below[..end - 1], set).await?;
        }
    }
    Ok(())
}

async fn make_one(
    session: &Session,
    dir: &Entry,
    name: &[u8],
    path: &[u8],
    set: &SetAttributes,
) -> Result<Entry, Failure> {
    match session.mount.mkdir(&dir.handle, name, set).await {
        Err(error) if error.status() == Some(Status::Exists) => {
            let found = session.mount.walk(path, Follow::Links).await.map_err(about(session.name()))?;
            let is_dir = found.attributes.kind == FileKind::Directory;
            if is_dir { Ok(found) } else { Err(about(session.name())(error)) }
        }
        made => made.map_err(about(session.name())),
    }
}
