//! An open file of a remote file system, as long as it lives.

use std::sync::Arc;
use std::time::Duration;

use client_files::{File, Mount, Principal, Status};
use tokio::sync::OwnedSemaphorePermit;
use vfs::{Attributes, Context, Error, OpenMode, Result, SetAttributes};

use super::handles::{Known, Number};
use super::late::LateError;
use super::opens::Hidden;
use super::shared::Shared;

/// The pauses before further attempts to remove a hidden name.
const RETRY_PAUSES: [Duration; 6] = [
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(15),
    Duration::from_secs(60),
    Duration::from_secs(240),
    Duration::from_secs(900),
];

/// An open file. Dropping it commits and closes it, and waits for the server.
#[derive(Debug)]
pub(super) struct RemoteFile {
    pub(super) shared: Arc<Shared>,
    number: Number,
    mode: OpenMode,
    /// The user who opened it.
    user: Arc<Principal>,
    /// Some until it is dropped.
    file: Option<File>,
    pub(super) late: LateError,
}

impl RemoteFile {
    /// Takes over an opened file; its number stays known as long as this lives.
    pub(super) fn new(shared: &Arc<Shared>, known: Known, mode: OpenMode, file: File) -> Arc<RemoteFile> {
        shared.handles.pin(&known);
        shared.opens.begin(known.number);
        let user = Arc::clone(file.mount().principal());
        let number = known.number;
        Arc::new(RemoteFile {
            shared: Arc::clone(shared),
            number,
            mode,
            user,
            file: Some(file),
            late: LateError::default(),
        })
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(super) fn number(&self) -> Number {
        self.number
    }

    pub(super) fn mode(&self) -> OpenMode {
        self.mode
    }

    pub(super) fn user(&self) -> &Arc<Principal> {
        &self.user
    }

    /// Sets attributes by the open file's right to write. Sends earlier writes first: they would change the file's
    /// times afterwards.
    pub(super) fn set_attributes(&self, cx: &Context<'_>, set: &SetAttributes) -> Result<Attributes> {
        let file = self.file()?;
        self.send_changes(cx)?;
        let mut rest = *set;
        if let Some(size_bytes) = rest.size_bytes.take() {
            self.shared.wait(cx, file.set_len(size_bytes))?;
        }
        let attributes = match rest.is_empty() {
            true => self.shared.wait(cx, file.mount().attributes(file.handle())),
            false => self.shared.wait(cx, file.setattr(&rest)),
        };
        self.shared.visible(self.number, attributes)
    }

    /// Sends changes to the server, so that its length and times are current. An error is kept for the next write or
    /// sync.
    pub(super) fn send_changes(&self, cx: &Context<'_>) -> Result<()> {
        if self.mode == OpenMode::Write {
            let sent = self.shared.wait_for(cx, self.file()?.flush())?;
            self.late.keep(sent.map_err(super::status::neutral));
        }
        Ok(())
    }

    /// Forces the next read to revalidate the cache.
    pub(super) fn look_again(&self) {
        if let Some(file) = &self.file {
            file.look_again();
        }
    }

    pub(super) fn file(&self) -> Result<&File> {
        self.file.as_ref().ok_or(Error::Stale)
    }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        let hidden = HiddenName::at_close(&self.shared, self.number);
        self.shared.handles.unpin(self.number);
        let Some(file) = self.file.take() else { return };
        self.shared.run(close(self.shared.mount.clone(), file, hidden));
    }
}

/// Commits and closes a file, and removes its hidden name. Errors only go to the log;
/// [`sync`](vfs::OpenFile::sync) before the drop returns them.
async fn close(mount: Mount, file: File, hidden: Option<HiddenName>) {
    let server = mount.server();
    if let Err(error) = file.close().await {
        tracing::warn!(server, %error, "cannot close a file; what was written to it and never synced may be lost");
    }
    if let Some(hidden) = hidden {
        hidden.remove().await;
    }
}

/// A hidden name that no open file needs. Whoever opens the file meanwhile waits until this is dropped.
pub(super) struct HiddenName {
    shared: Arc<Shared>,
    number: Number,
    hidden: Hidden,
}

impl HiddenName {
    /// Counts a close. The last one gets the hidden name, if there is one.
    pub(super) fn at_close(shared: &Arc<Shared>, number: Number) -> Option<HiddenName> {
        let hidden = shared.opens.end(number)?;
        Some(HiddenName { shared: Arc::clone(shared), number, hidden })
    }

    /// Keeps the hidden name for the last close. Gets a name to remove now if there is one.
    pub(super) fn unused(shared: &Arc<Shared>, number: Number, hidden: Hidden) -> Option<HiddenName> {
        let hidden = shared.opens.hide(number, hidden)?;
        Some(HiddenName { shared: Arc::clone(shared), number, hidden })
    }

    /// Removes the name. Nobody gets the error; later attempts follow in the background.
    pub(super) async fn remove(self) {
        match self.hidden.remove().await {
            Ok(()) => self.shared.handles.note_gone(self.number),
            Err(error) if error.status() == Some(Status::NoEntry) => {}
            Err(error) => match Arc::clone(&self.shared.hidden_retries).try_acquire_owned() {
                Ok(permit) => drop(tokio::spawn(remove_later(self.hidden.clone(), permit))),
                Err(_) => warn_of_leftover(&self.hidden, &error),
            },
        }
    }
}

/// Removes a hidden name that could not be removed at the last close: no user knows of it.
async fn remove_later(hidden: Hidden, _permit: OwnedSemaphorePermit) {
    let mut last = None;
    for pause in RETRY_PAUSES {
        tokio::time::sleep(pause).await;
        match hidden.remove().await {
            Ok(()) => return,
            Err(error) if error.status() == Some(Status::NoEntry) => return,
            Err(error) => last = Some(error),
        }
    }
    if let Some(error) = last {
        warn_of_leftover(&hidden, &error);
    }
}

fn warn_of_leftover(hidden: &Hidden, error: &client_files::Error) {
    let (server, name) = (hidden.mount.server(), String::from_utf8_lossy(&hidden.name.name));
    tracing::warn!(server, %name, %error, "cannot remove a file that was removed while it was open; remove it by hand");
}

impl Drop for HiddenName {
    fn drop(&mut self) {
        self.shared.opens.end_removal(self.number);
    }
}
