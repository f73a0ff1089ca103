use clap::Args;
use client::{Detail, Entry, Handle, Status, Url};
use vfs::FileKind;

use crate::failure::{Failure, Failures};
use crate::remote::{self, ConnectFlags, MAX_DEPTH, Session, about, display_name};

/// Remove files.
///
/// Goes on with the other files after a failure.
#[derive(Debug, Args)]
pub struct Flags {
    /// The files, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", required = true, value_parser = remote::parse_url)]
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
        for url in &flags.urls {
            match remove(url, flags, &mut failures).await {
                Err(failure) if flags.force && is_absence(&failure) => {}
                result => failures.go_on(result)?,
            }
        }
        failures.finish()
    })
}

async fn remove(url: &Url, flags: &Flags, failures: &mut Failures) -> Result<(), Failure> {
    let session = Session::open(url, &flags.connect).await?;
    let (dir, name) = session.find_parent().await?;
    let file = session.mount.lookup(&dir.handle, &name).await.map_err(about(session.name()))?;
    match (file.attributes.kind, flags.recursive) {
        (FileKind::Directory, false) => Err(Failure::IsDirectory { file: session.name() }),
        (FileKind::Directory, true) => {
            let mut remover = Remover { session: &session, force: flags.force, failures, stack: Vec::new() };
            remover.remove_tree(&dir, file, name).await
        }
        _ => session.mount.remove(&dir.handle, &name).await.map_err(about(session.name())),
    }
}

/// Whether something failed because a file does not exist.
fn is_absence(failure: &Failure) -> bool {
    matches!(failure, Failure::Remote { source, .. } if source.status() == Some(Status::NoEntry))
}

struct Remover<'a> {
    session: &'a Session,
    force: bool,
    failures: &'a mut Failures,
    /// The directories from the top to the current one.
    stack: Vec<Frame>,
}

/// A directory that is being emptied.
struct Frame {
    parent: Handle,
    name: Vec<u8>,
    dir: Handle,
    /// Its remaining entries, with their attributes if known.
    left: Vec<(Vec<u8>, Option<Entry>)>,
    /// Whether an entry could not be removed, so that it must stay itself.
    must_stay: bool,
}

impl Remover<'_> {
    /// Empties a directory from the bottom up, and removes it. Does not follow symbolic links.
    async fn remove_tree(&mut self, parent: &Entry, top: Entry, name: Vec<u8>) -> Result<(), Failure> {
        self.enter(parent.handle, top.handle, name).await?;
        while let Some(frame) = self.stack.last_mut() {
            match frame.left.pop() {
                Some((name, entry)) => self.remove_one(name, entry).await?,
                None => self.leave().await?,
            }
        }
        Ok(())
    }

    /// Lists a whole directory first: removing names during a listing would skip some on servers whose cookies are
    /// offsets.
    async fn enter(&mut self, parent: Handle, dir: Handle, name: Vec<u8>) -> Result<(), Failure> {
        self.stack.push(Frame { parent, name, dir, left: Vec::new(), must_stay: false });
        if self.stack.len() > MAX_DEPTH {
            return self.note(Failure::TooDeep { file: self.path(), max: MAX_DEPTH });
        }
        let mut listing = self.session.mount.read_dir(&dir, Detail::Entries);
        let mut left = Vec::new();
        loop {
            match listing.next().await {
                Ok(Some(found)) => left.push((found.name.into_vec(), found.entry)),
                Ok(None) => break,
                Err(error) => {
                    self.note(about(self.path())(error))?;
                    break;
                }
            }
        }
        if let Some(frame) = self.stack.last_mut() {
            frame.left = left;
        }
        Ok(())
    }

    /// Removes a file of the current directory, or enters it if it is a directory.
    async fn remove_one(&mut self, name: Vec<u8>, entry: Option<Entry>) -> Result<(), Failure> {
        let Some(Frame { dir, .. }) = self.stack.last() else { return Ok(()) };
        let dir = *dir;
        match entry.filter(|entry| entry.attributes.kind == FileKind::Directory) {
            Some(inner) => self.enter(dir, inner.handle, name).await,
            None => match self.session.mount.remove(&dir, &name).await {
                Ok(()) => Ok(()),
                Err(error) => self.note(about(format!("{}/{}", self.path(), display_name(&name)))(error)),
            },
        }
    }

    /// Removes the current directory, which is empty unless an entry must stay.
    async fn leave(&mut self) -> Result<(), Failure> {
        let path = self.path();
        let Some(Frame { parent, name, must_stay, .. }) = self.stack.pop() else { return Ok(()) };
        if must_stay {
            self.keep_parent();
            return Ok(());
        }
        match self.session.mount.rmdir(&parent, &name).await {
            Ok(()) => Ok(()),
            Err(error) => self.note(about(path)(error)),
        }
    }

    /// Prints a failure and continues, unless the server is unreachable: each further file would wait for it again.
    fn note(&mut self, failure: Failure) -> Result<(), Failure> {
        if self.force && is_absence(&failure) {
            return Ok(());
        }
        if matches!(&failure, Failure::Remote { source, .. } if source.status().is_none()) {
            return Err(failure);
        }
        self.failures.note(&failure);
        self.keep_parent();
        Ok(())
    }

    fn keep_parent(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.must_stay = true;
        }
    }

    /// The path of the current directory.
    fn path(&self) -> String {
        let below = self.stack.iter().skip(1);
        below.fold(self.session.name(), |path, frame| format!("{path}/{}", display_name(&frame.name)))
    }
}
