use proto::nlm::{Null, V1, V3, V4};

use super::call::{Answer, Question, ask};
use crate::{Connection, Mount, Reason, Result, Version};

/// The way to a server's lock manager.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) connection: Connection,
    /// The version of the lock manager's protocol.
    pub(super) version: u32,
}

impl Mount {
    /// Asks the server's lock manager. A way to it that is lost is looked for again: it may have another port after a restart.
    pub(super) async fn ask_locks(&self, question: &Question<'_>) -> Result<Answer> {
        let link = self.lock_link().await?;
        let answer = ask(&link, question).await;
        if answer.as_ref().is_err_and(|error| matches!(error.reason(), Reason::NoReply(_))) {
            self.0.nlm.link.lock().await.take();
        }
        answer
    }

    pub(super) async fn lock_link(&self) -> Result<Link> {
        let mut link = self.0.nlm.link.lock().await;
        if let Some(link) = &*link {
            return Ok(link.clone());
        }
        let connection = self.connect_nlm().await?;
        let version = match self.version() {
            Version::V2 if is_there::<V3>(&connection).await? => 3,
            Version::V2 => 1,
            _ => 4,
        };
        Ok(link.insert(Link { connection, version }).clone())
    }

    /// How often the way to the lock manager was made anew; `None` while there is none.
    pub(super) async fn lock_reconnects(&self) -> Option<u64> {
        self.0.nlm.link.lock().await.as_ref().map(|link| link.connection.counters().reconnects)
    }
}

/// Whether a lock manager of this version answers.
async fn is_there<V: proto::nlm::Version>(connection: &Connection) -> Result<bool> {
    match connection.call::<Null<V>>(&()).await {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.reason(), Reason::Rejected(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the lock manager that a mount needs answers over this connection.
pub(crate) async fn has_lock_manager(connection: &Connection, version: Version) -> Result<bool> {
    match version {
        Version::V2 => Ok(is_there::<V3>(connection).await? || is_there::<V1>(connection).await?),
        _ => is_there::<V4>(connection).await,
    }
}
