//! Orderly exit of a process: its NFSv4 servers drop its state at once, so that nobody waits for it.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use client_calls::Connection;

use super::client::{Client, Inner};

/// The clients of this process.
static CLIENTS: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

/// The poll interval while clients close.
const PAUSE: Duration = Duration::from_millis(2);

/// Registers a client that has a session.
pub(super) fn enter(client: Weak<Inner>) {
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    clients.retain(|client| client.strong_count() > 0);
    clients.push(client);
}

/// Closes all NFSv4 clients of this process, in whatever state they are: closes files, returns delegations, destroys
/// sessions and client ids.
///
/// Call it just before the process ends. Otherwise the server keeps the state until the lease expires, and waits for it
/// after a restart. It takes at most `timeout` and skips servers that are not connected. The mounts are of no use
/// afterwards.
///
/// ```no_run
/// # async fn example() {
/// client::leave_servers(std::time::Duration::from_secs(3)).await;
/// # }
/// ```
pub async fn leave_servers(timeout: Duration) {
    let clients = clients();
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

/// Fails the calls of this process that wait for the end of an NFSv4 server's grace period, from now on. A process that
/// is about to end calls it, so that it does not wait that long.
pub fn hurry() {
    clients().iter().for_each(|client| client.0.hurries.store(true, Ordering::Relaxed));
}

fn clients() -> Vec<Client> {
    let known = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    known.iter().filter_map(Weak::upgrade).map(Client::of).collect()
}

impl Client {
    fn is_reachable(&self) -> bool {
        self.0.connections.iter().any(Connection::is_up)
    }
}
