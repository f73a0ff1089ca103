//! Copies standard input, a pipe or a device to a remote file, and a remote file to standard output.

use std::fs;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use client::copy::{self, CopyError, Event};
use client::{Entry, File, Follow, OpenOptions, Status, Url};
use vfs::{FileKind, SetAttributes};

use super::Copy;
use super::target::local_name;
use crate::cat;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::CopyProgress;
use crate::remote::{Session, about, join, new_file_mode};

/// The size of a read from an input.
const PIECE_BYTES: u64 = 1 << 20;
/// The mode of an incomplete file.
const PRIVATE: u32 = 0o600;

impl Copy<'_> {
    /// Writes a file out, as `wharf cat` does.
    pub(super) async fn download_stream(&self, from: &Url) -> Result<(), Failure> {
        let session = self.open(from).await?;
        let mut output = Output::new();
        cat::write_file(&session, &mut output).await?;
        Ok(output.finish()?)
    }

    /// Writes all of an input to a file.
    pub(super) async fn upload_stream(&self, input: Input, to: &Url) -> Result<(), Failure> {
        if self.flags.resume {
            return Err(Failure::NoResume { file: input.shown });
        }
        let session = self.open(to).await?;
        let (file, is_new) = self.create(&session, &input).await?;
        let (progress, path) = (self.progress(), super::remote_name(to));
        self.mounts.under_way.set_stream(true);
        progress.listener()(Event::Begun { path: &path });
        let written = write_stream(&session, &input, file, &progress, is_new).await;
        let elapsed = progress.finish();
        let bytes = written.map_err(|failure| Failure::Partly {
            failure: Box::new(failure),
            left: self.mounts.under_way.incomplete(),
        })?;
        progress.listener()(Event::Finished { path: &path, is_file: true });
        self.mounts.under_way.set_stream(false);
        if self.flags.verbose {
            eprintln!("copied {bytes} bytes of {} in {:.2} s", input.shown, elapsed.as_secs_f64());
        }
        Ok(())
    }

    /// Creates the file, or opens an existing one if allowed; returns whether it is new.
    async fn create(&self, session: &Session, input: &Input) -> Result<(File, bool), Failure> {
        let (mut path, mut file) = (session.below(), session.name());
        let mut found = find(session, &path).await?;
        let is_dir = |found: &Option<Entry>| matches!(found, Some(dir) if dir.attributes.kind == FileKind::Directory);
        if !is_dir(&found) && self.is_one_of_several {
            return Err(Failure::NoDirectory { file });
        }
        if is_dir(&found) && !input.name.is_empty() && !self.flags.no_target_directory {
            (path, file) = (join(&path, &input.name), session.name_of(&join(session.path(), &input.name)));
            found = find(session, &path).await?;
        }
        match &found {
            _ if is_dir(&found) => return Err(Failure::StreamNeedsName { file, input: input.shown.clone() }),
            Some(_) if !self.flags.overwrite => return Err(Failure::Exists { file }),
            Some(there) => self.refuse_itself(session, input, there).await?,
            None => {}
        }
        let options = OpenOptions::write();
        let options = if found.is_none() { options.making_new(PRIVATE) } else { options.replacing(PRIVATE) };
        let opened = session.mount.root_dir().open(path, &options).await;
        Ok((opened.map_err(about(file))?, found.is_none()))
    }

    /// Refuses to truncate the file that is the input.
    async fn refuse_itself(&self, session: &Session, input: &Input, there: &Entry) -> Result<(), Failure> {
        let source = match copy::is_same_file(&input.file, &session.mount, there).await {
            Ok(false) => return Ok(()),
            Ok(true) => CopyError::Itself { path: input.shown.clone().into_bytes() },
            Err(error) => error,
        };
        Err(Failure::Copy { file: session.name(), source, left: String::new() })
    }
}

/// The file at a path below the export, if it exists.
async fn find(session: &Session, path: &[u8]) -> Result<Option<Entry>, Failure> {
    match session.mount.walk(path, Follow::Links).await {
        Err(error) if error.status() == Some(Status::NoEntry) => Ok(None),
        found => found.map(Some).map_err(about(session.name())),
    }
}

/// A file that is read once, from its start to its end: standard input, a pipe or a device.
pub(super) struct Input {
    file: Arc<fs::File>,
    /// Its name in an existing target directory; empty for standard input.
    name: Vec<u8>,
    /// What messages call it.
    shown: String,
}

impl Input {
    pub(super) fn standard() -> Result<Input, Failure> {
        let failed = |source| Failure::System { action: "read standard input", source };
        daemon::check_stream(0).map_err(failed)?;
        let file = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?.into();
        Ok(Input { file: Arc::new(file), name: Vec::new(), shown: "standard input".to_owned() })
    }

    /// Opens a file. A pipe waits for its writer.
    pub(super) async fn open(path: &Path) -> Result<Input, Failure> {
        let local = |source| Failure::Local { path: path.to_owned(), source };
        let from = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || fs::File::open(from)).await;
        let file = opened.map_err(io::Error::other).and_then(|opened| opened).map_err(local)?;
        Ok(Input { file: Arc::new(file), name: local_name(path)?, shown: path.display().to_string() })
    }

    /// The next bytes; empty at the end.
    async fn read_piece(&self) -> Result<Vec<u8>, Failure> {
        let file = Arc::clone(&self.file);
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = Vec::new();
            file.take(PIECE_BYTES).read_to_end(&mut piece).map(|_| piece)
        });
        let read = read.await.map_err(io::Error::other).and_then(|read| read);
        read.map_err(|source| Failure::Local { path: self.shown.clone().into(), source })
    }
}

/// Writes an input to a file, and sets a new file's mode when all data is on stable storage.
async fn write_stream(
    session: &Session,
    input: &Input,
    file: File,
    progress: &CopyProgress,
    is_new: bool,
) -> Result<u64, Failure> {
    let mut offset = 0;
    loop {
        let piece = input.read_piece().await?;
        if piece.is_empty() {
            break;
        }
        file.write_at(offset, &piece).await.map_err(about(session.name()))?;
        offset += piece.len() as u64;
        progress.listener()(Event::Copied(piece.len() as u64));
    }
    file.sync().await.map_err(about(session.name()))?;
    if is_new {
        let set = SetAttributes { mode: Some(new_file_mode()), ..SetAttributes::default() };
        file.setattr(&set).await.map_err(about(session.name()))?;
    }
    file.close().await.map_err(about(session.name()))?;
    Ok(offset)
}
