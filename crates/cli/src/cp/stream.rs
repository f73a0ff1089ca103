//! Copies standard input to a remote file, and a remote file to standard output.

use std::io::{self, Read};

use client::copy::Event;
use client::{File, Follow, OpenOptions, Status, Url};
use vfs::{FileKind, SetAttributes};

use super::Copy;
use crate::cat;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::CopyProgress;
use crate::remote::{Session, about, new_file_mode};

/// The size of a read from standard input.
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

    /// Writes all of standard input to a file.
    pub(super) async fn upload_stream(&self, to: &Url) -> Result<(), Failure> {
        if self.flags.resume {
            return Err(Failure::NoResume);
        }
        let session = self.open(to).await?;
        let (file, is_new) = self.create(&session).await?;
        let (progress, path) = (self.progress(), super::remote_name(to));
        progress.listener()(Event::Begun { path: &path });
        let written = write_stream(&session, file, &progress, is_new).await;
        let elapsed = progress.finish();
        let bytes = written.map_err(|failure| Failure::Partly {
            failure: Box::new(failure),
            left: self.mounts.under_way.incomplete(),
        })?;
        if self.flags.verbose {
            eprintln!("copied {bytes} bytes of standard input in {:.2} s", elapsed.as_secs_f64());
        }
        Ok(())
    }

    /// Creates the file, or opens an existing one if allowed; returns whether it is new.
    async fn create(&self, session: &Session) -> Result<(File, bool), Failure> {
        let file = session.name();
        let is_new = match session.mount.walk(&session.below(), Follow::Links).await {
            Ok(found) if found.attributes.kind == FileKind::Directory => return Err(Failure::StreamNeedsName { file }),
            Ok(_) if !self.flags.overwrite => return Err(Failure::Exists { file }),
            Err(error) if error.status() != Some(Status::NoEntry) => return Err(about(file)(error)),
            found => found.is_err(),
        };
        let options = OpenOptions::write();
        let options = if is_new { options.making_new(PRIVATE) } else { options.replacing(PRIVATE) };
        let opened = session.mount.root_dir().open(session.below(), &options).await;
        Ok((opened.map_err(about(file))?, is_new))
    }
}

/// Writes standard input to a file, and sets a new file's mode when all data is on stable storage.
async fn write_stream(session: &Session, file: File, progress: &CopyProgress, is_new: bool) -> Result<u64, Failure> {
    let mut offset = 0;
    loop {
        let piece = read_piece().await.map_err(|source| Failure::System { action: "read standard input", source })?;
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

/// The next bytes of standard input; empty at its end.
async fn read_piece() -> io::Result<Vec<u8>> {
    let read = tokio::task::spawn_blocking(|| {
        daemon::check_stream(0)?;
        let mut piece = Vec::new();
        io::stdin().lock().take(PIECE_BYTES).read_to_end(&mut piece).map(|_| piece)
    });
    read.await.map_err(io::Error::other)?
}
