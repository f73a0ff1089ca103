use clap::Args;
use client::{Entry, Handle, Status, Url};
use vfs::FileKind;

use crate::failure::{Failure, Failures};
use crate::remote::{self, ConnectFlags, Session, Step, Walk, about};

/// Remove files.
///
/// Goes on with the other files after a failure.
#[derive(Debug, Args)]
pub struct Flags {
    /// The files, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// Remove directories and their contents.
    #[arg(short = 'r', long)]
    recursive: bool,
    /// Ignore files that do not exist.
    #[arg(short = 'f', long)]
    force: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Removes the files.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        let mut failures = Failures::default();
        remove_all(flags, &mut failures).await?;
        failures.finish()
    })
}

impl Flags {
    /// Those that remove these files and trees, as far as they exist.
    pub fn for_trees(urls: Vec<Url>, connect: ConnectFlags) -> Flags {
        Flags { urls, recursive: true, force: true, connect }
    }
}

/// Removes the files, and goes on after a failure.
///
/// # Errors
/// When all further files would fail, too.
pub async fn remove_all(flags: &Flags, failures: &mut Failures) -> Result<(), Failure> {
    for url in &flags.urls {
        match remove(url, flags, failures).await {
            Err(failure) if flags.force && is_absence(&failure) => {}
            result => failures.go_on(result)?,
        }
    }
    Ok(())
}

async fn remove(url: &Url, flags: &Flags, failures: &mut Failures) -> Result<(), Failure> {
    let session = Session::open_named(url, &flags.connect).await?;
    let (dir, name) = session.find_parent().await?;
    let file = session.mount.lookup(&dir.handle, &name).await.map_err(about(session.name()))?;
    match (file.attributes.kind, flags.recursive) {
        (FileKind::Directory, false) => Err(Failure::IsDirectory { file: session.name() }),
        (FileKind::Directory, true) => remove_tree(&session, dir.handle, file, flags, failures).await,
        _ => session.mount.remove(&dir.handle, &name).await.map_err(about(session.name())),
    }
}

/// Whether something failed because a file does not exist.
fn is_absence(failure: &Failure) -> bool {
    matches!(failure, Failure::Remote { source, .. } if source.status() == Some(Status::NoEntry))
}

/// A directory that is being emptied, or the parent of the tree.
struct Dir {
    handle: Handle,
    /// Whether an entry could not be removed, so that it must stay itself.
    must_stay: bool,
}

/// Empties a directory from the bottom up, and removes it. Goes on after a failure, unless the server is unreachable:
/// each further file would wait for it again.
async fn remove_tree(
    session: &Session,
    parent: Handle,
    top: Entry,
    flags: &Flags,
    failures: &mut Failures,
) -> Result<(), Failure> {
    let mut above = vec![Dir { handle: parent, must_stay: false }];
    let mut walk = Walk::new(session, top);
    while let Some(step) = walk.next().await {
        let removed = match step {
            Step::Enter(node) => {
                above.push(Dir { handle: node.entry.handle, must_stay: false });
                continue;
            }
            Step::Leave(_) if above.pop().is_some_and(|dir| dir.must_stay) => {
                above.iter_mut().for_each(|dir| dir.must_stay = true);
                continue;
            }
            Step::Leave(node) => {
                let Some(dir) = above.last() else { break };
                session.mount.rmdir(&dir.handle, node.name()).await.map_err(about(session.name_of(&node.path)))
            }
            Step::File(node) => {
                let Some(dir) = above.last() else { break };
                session.mount.remove(&dir.handle, node.name()).await.map_err(about(session.name_of(&node.path)))
            }
            Step::Unseen(_, _, failure) | Step::Failed(failure) => Err(failure),
        };
        let Err(failure) = removed else { continue };
        if flags.force && is_absence(&failure) {
            continue;
        }
        if failure.ends_all() {
            return Err(failure);
        }
        failures.note(&failure);
        above.iter_mut().for_each(|dir| dir.must_stay = true);
    }
    Ok(())
}
