use std::path::Path;

use clap::Args;
use client::{Follow, Status, Url};
use vfs::FileKind;

use crate::failure::Failure;
use crate::remote::{self, ConnectFlags, Session, about};

/// Rename a file or directory within an export.
#[derive(Debug, Args)]
pub struct Flags {
    /// The file, such as nfs://host/export/old or host:/export/old.
    #[arg(value_name = "FROM", value_parser = remote::url_argument())]
    from: Url,
    /// The new name, or an existing directory to move it into. An existing file is replaced.
    #[arg(value_name = "TO", value_parser = remote::url_argument())]
    to: Url,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// What to do where there can be no renaming.
const NO_RENAME: &str = "copy it with wharf cp, and then remove the original with wharf rm";

/// Renames the file.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        let (from, to) = Session::open_both(&flags.from, &flags.to, &flags.connect, NO_RENAME).await?;
        let (from_dir, old) = from.find_parent().await?;
        let (to_dir, new) = match to.mount.walk(&to.below(), Follow::Links).await {
            Ok(found) if found.attributes.kind == FileKind::Directory => (found, old.clone()),
            Ok(_) => to.find_parent().await?,
            Err(error) if error.status() == Some(Status::NoEntry) => to.find_parent().await?,
            Err(error) => return Err(about(to.name())(error)),
        };
        let renamed = from.mount.rename(&from_dir.handle, &old, &to_dir.handle, &new).await;
        renamed.map_err(|error| match error.status() {
            // Other causes are names that a server does not take (RFC 1813 §3.3.14, RFC 8881 §18.26.3).
            Some(Status::Invalid) if Path::new(&to.name()).starts_with(from.name()) => {
                Failure::MoveIntoItself { from: from.name(), to: to.name() }
            }
            _ => about(from.name())(error),
        })
    })
}
