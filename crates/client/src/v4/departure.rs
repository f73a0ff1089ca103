//! The end of a program that is a client of NFSv4: its servers are told, so that nobody waits there for what it held.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use super::client::{Client, Inner};
use crate::connection::Connection;

/// The clients of this process.
static CLIENTS: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

/// How often it is looked whether all have left.
const PAUSE: Duration = Duration::from_millis(2);

/// Notes a client that has a session.
pub(super) fn enter(client: Weak<Inner>) {
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    clients.retain(|client| client.strong_count() > 0);
    clients.push(client);
}

/// Has all mounts of this process leave their servers of NFSv4, in whatever state they are: files are closed, delegations go back,
/// sessions and client ids are destroyed. To be called when the process is about to end, since a server keeps what a client held
/// until its lease ends, and waits for it after a restart. Takes `timeout` at the most; a server that is not connected is not
/// waited for. The mounts are of no use afterwards.
///
/// ```no_run
/// # async fn example() {
/// client::leave_servers(std::time::Duration::from_secs(3)).await;
/// # }
/// ```
pub async fn leave_servers(timeout: Duration) {
    let clients: Vec<Client> = {
        let known = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter_map(Weak::upgrade).map(Client::of).collect()
    };
    let reachable: Vec<&Client> = clients.iter().filter(|client| client.is_reachable()).collect();
    reachable.iter().for_each(|client| client.close_soon());
    let all_left = async {
        while reachable.iter().any(|client| !client.0.has_left.load(Ordering::Acquire)) {
            tokio::time::sleep(PAUSE).await;
        }
    };
    if tokio::time::timeout(timeout, all_left).await.is_err() {
        tracing::debug!("a server does not answer a client that goes");
    }
}

impl Client {
    fn is_reachable(&self) -> bool {
        self.0.connections.iter().any(Connection::is_up)
    }
}
