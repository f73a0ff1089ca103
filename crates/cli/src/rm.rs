use clap::Args;
use client::{Detail, Entry, Handle, Url};
use vfs::FileKind;

use crate::failure::Failure;
use crate::remote::{self, ConnectFlags, MAX_DEPTH, Session, about, display_name};

/// Remove files.
#[derive(Debug, Args)]
pub struct Flags {
    /// The files, such as nfs://host/export/file.
    #[arg(value_name = "URL", required = true)]
    urls: Vec<Url>,
    /// Remove directories too, with all that is in them.
    #[arg(short = 'r', long)]
    recursive: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Removes them.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        for url in &flags.urls {
            let session = Session::open(url, &flags.connect).await?;
            let (dir, name) = session.find_parent().await?;
            let file = session.mount.lookup(&dir.handle, &name).await.map_err(about(session.name()))?;
            match (file.attributes.kind, flags.recursive) {
                (FileKind::Directory, false) => return Err(Failure::IsDirectory { file: session.name() }),
                (FileKind::Directory, true) => remove_tree(&session, &dir, (file, name)).await?,
                _ => session.mount.remove(&dir.handle, &name).await.map_err(about(session.name()))?,
            }
        }
        Ok(())
    })
}

/// Empties a directory from the bottom up, and removes it. Links are removed, never followed.
async fn remove_tree(session: &Session, parent: &Entry, (top, name): (Entry, Vec<u8>)) -> Result<(), Failure> {
    let mut remover = Remover { session, stack: Vec::new() };
    remover.enter(parent.handle, top.handle, name).await?;
    while let Some(frame) = remover.stack.last_mut() {
        match frame.left.pop() {
            Some((name, entry)) => remover.remove_one(name, entry).await?,
            None => remover.leave().await?,
        }
    }
    Ok(())
}

struct Remover<'a> {
    session: &'a Session,
    /// The directories from the top to where the removal is.
    stack: Vec<Frame>,
}

/// A directory that is being emptied.
struct Frame {
    parent: Handle,
    name: Vec<u8>,
    dir: Handle,
    /// What is left in it, with its kind where that is known.
    left: Vec<(Vec<u8>, Option<Entry>)>,
}

impl Remover<'_> {
    /// Lists a whole directory first: removing names while a listing goes on would leave some out on servers whose cookies
    /// are offsets.
    async fn enter(&mut self, parent: Handle, dir: Handle, name: Vec<u8>) -> Result<(), Failure> {
        if self.stack.len() == MAX_DEPTH {
            return Err(Failure::TooDeep { file: self.path(), max: MAX_DEPTH });
        }
        self.stack.push(Frame { parent, name, dir, left: Vec::new() });
        let mut listing = self.session.mount.read_dir(&dir, Detail::Entries);
        let mut left = Vec::new();
        while let Some(found) = listing.next().await.map_err(about(self.path()))? {
            left.push((found.name.into_vec(), found.entry));
        }
        if let Some(frame) = self.stack.last_mut() {
            frame.left = left;
        }
        Ok(())
    }

    /// Removes a file of the deepest directory, or enters it when it is a directory itself.
    async fn remove_one(&mut self, name: Vec<u8>, entry: Option<Entry>) -> Result<(), Failure> {
        let Some(Frame { dir, .. }) = self.stack.last() else { return Ok(()) };
        let dir = *dir;
        match entry.filter(|entry| entry.attributes.kind == FileKind::Directory) {
            Some(inner) => self.enter(dir, inner.handle, name).await,
            None => {
                let removed = self.session.mount.remove(&dir, &name).await;
                removed.map_err(|error| about(format!("{}/{}", self.path(), display_name(&name)))(error))
            }
        }
    }

    /// Removes the deepest directory, which is empty now.
    async fn leave(&mut self) -> Result<(), Failure> {
        let path = self.path();
        let Some(Frame { parent, name, .. }) = self.stack.pop() else { return Ok(()) };
        self.session.mount.rmdir(&parent, &name).await.map_err(about(path))
    }

    /// The path of the deepest directory.
    fn path(&self) -> String {
        let below = self.stack.iter().skip(1);
        below.fold(self.session.name(), |path, frame| format!("{path}/{}", display_name(&frame.name)))
    }
}
