use std::sync::atomic::Ordering;
use std::time::Duration;

use proto::nlm::{Null, V1, V3, V4};

use super::call::{Answer, Question, ask};
use super::link::Link;
use crate::{Connection, Error, Mount, Reason, Result, Version};

/// The pause before a lock manager that does not answer is asked again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// The pause between two checks of whether a lost lock manager is back.
pub(super) const LOST_PAUSE: Duration = Duration::from_millis(500);

impl Mount {
    /// Asks the server's lock manager. A hard mount waits for a lock manager that was there before.
    pub(super) async fn ask_locks(&self, question: &Question<'_>) -> Result<Answer> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.ask_locks_once(question).await {
                Err(error) if self.options().is_hard && self.has_had_locks() && is_away(&error) => {
                    tracing::debug!(%error, "the lock manager is waited for");
                }
                other => return other,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    async fn ask_locks_once(&self, question: &Question<'_>) -> Result<Answer> {
        let (link, answer) = loop {
            let link = self.lock_link().await?.acting_as(self.principal());
            tokio::select! {
                answer = ask(&link, question) => break (link, answer),
                // The question is repeated, which locks and unlocks nothing else than before.
                () = self.is_replaced(&link) => {}
            }
        };
        if answer.as_ref().is_err_and(is_away) {
            let mut slot = self.0.nlm.link.lock().await;
            // Another task may have replaced the link meanwhile.
            if slot.as_ref().is_some_and(|now| now.number == link.number) {
                slot.take();
            }
        }
        answer
    }

    /// Returns when the link was lost and replaced.
    async fn is_replaced(&self, link: &Link) {
        loop {
            tokio::time::sleep(LOST_PAUSE).await;
            if !link.connection.is_up() && self.lock_link().await.is_ok_and(|now| now.number != link.number) {
                return;
            }
        }
    }

    /// The link to the lock manager. A lost one is replaced, since the lock manager may have another port after a
    /// restart.
    pub(super) async fn lock_link(&self) -> Result<Link> {
        let mut slot = self.0.nlm.link.lock().await;
        match &*slot {
            Some(link) if link.connection.is_up() => Ok(link.clone()),
            // Until there is another one the lost link will do: a call over it waits for as long as the options say.
            Some(lost) => match self.find_locks().await {
                Ok(link) => Ok(slot.insert(link).clone()),
                Err(_) => Ok(lost.clone()),
            },
            None => Ok(slot.insert(self.find_locks().await?).clone()),
        }
    }

    async fn find_locks(&self) -> Result<Link> {
        let connection = self.connect_nlm().await?;
        let version = match self.version() {
            Version::V2 if is_there::<V3>(&connection).await? => 3,
            Version::V2 => 1,
            _ => 4,
        };
        let number = self.0.nlm.links.fetch_add(1, Ordering::Relaxed);
        Ok(Link { connection, version, number })
    }

    fn has_had_locks(&self) -> bool {
        self.0.nlm.links.load(Ordering::Relaxed) > 0
    }

    /// A number that changes whenever a connection to the lock manager or to the server was replaced, or nobody
    /// listened on the port of a datagram socket.
    pub(super) async fn lock_losses(&self) -> u64 {
        let of = |connection: &Connection| {
            let counters = connection.counters();
            counters.reconnects.wrapping_add(counters.refusals)
        };
        let link = self.0.nlm.link.lock().await.as_ref().map_or(0, |link| of(&link.connection));
        let server: u64 = self.connections().iter().map(of).sum();
        // Each new link counts for more than all reconnections of the one before.
        (self.0.nlm.links.load(Ordering::Relaxed) << 32).wrapping_add(link).wrapping_add(server)
    }
}

/// Whether no lock manager answers, so that it may be elsewhere by now.
fn is_away(error: &Error) -> bool {
    matches!(error.reason(), Reason::NoReply(_) | Reason::Connect { .. } | Reason::NotRegistered { .. })
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
