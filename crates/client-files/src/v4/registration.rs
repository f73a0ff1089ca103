//! Making the client known at a server, and its sessions.

use std::collections::HashMap;
use std::time::Duration;

use client_calls::v4::{Wire, destroy_clientid};
use proto::nfs4::{MinorVersion, Status};

use super::create_session::create_session;
use super::delegations::Kind;
use super::exchange_id::{Known, exchange_id};
use super::identity::Identity;
use super::session::{FAREWELL, Session};
use super::setclientid::setclientid;
use super::verdicts::decides_nothing;
use crate::{Error, Handle, Result};

/// How often a step is retried while the server puts it off.
const MAX_TRIES: u32 = 20;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(250);

/// What the next session requires.
#[derive(Debug)]
pub(super) struct Recovery {
    /// The client id and the sequence id of the next CREATE_SESSION; none in 4.0.
    pub(super) known: Option<Known>,
    /// The server's scope, whose servers share client ids; none in 4.0.
    pub(super) scope: Option<Vec<u8>>,
    /// Whether the server forgot the client, and was not yet told that all is reclaimed.
    pub(super) must_reclaim: bool,
    /// Whether state may be reclaimed: not at another server (RFC 8881 §8.4.2.1).
    pub(super) is_same_server: bool,
    /// The delegations to reclaim with their files.
    pub(super) claims: HashMap<Handle, Kind>,
}

impl Recovery {
    /// Makes the client known and creates its first session.
    pub(super) async fn start(wire: &Wire<'_>, identity: &Identity, slots: u32) -> Result<(Session, Recovery)> {
        let mut recovery =
            Recovery { known: None, scope: None, must_reclaim: false, is_same_server: true, claims: HashMap::new() };
        match recovery.new_client(wire, identity, slots).await {
            Ok(session) => Ok((session, recovery)),
            Err(error) => Err(recovery.leave_after(wire, error).await),
        }
    }

    /// Destroys a client id that got no session because of `error`, unless the server does not answer.
    async fn leave_after(self, wire: &Wire<'_>, error: Error) -> Error {
        if !decides_nothing(&error)
            && let Some(known) = self.known
        {
            // The server drops it with the lease at the latest.
            let _ = tokio::time::timeout(FAREWELL, destroy_clientid(wire, known.client)).await;
        }
        error
    }

    pub(super) async fn new_client(&mut self, wire: &Wire<'_>, identity: &Identity, slots: u32) -> Result<Session> {
        self.known = None;
        let mut tries = 0;
        loop {
            match self.new_client_once(wire, identity, slots).await {
                // A server that restarts between the two calls does not know the client id from the first.
                Err(error)
                    if matches!(error.v4_status(), Some(Status::Delay | Status::StaleClientid))
                        && tries < MAX_TRIES =>
                {
                    tries += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                other => return other,
            }
        }
    }

    async fn new_client_once(&mut self, wire: &Wire<'_>, identity: &Identity, slots: u32) -> Result<Session> {
        if wire.minor == MinorVersion::V0 {
            return setclientid(wire, identity).await;
        }
        let known = exchange_id(wire, identity).await?;
        self.is_same_server = self.scope.as_ref().is_none_or(|earlier| *earlier == known.server.scope);
        let known = self.known.insert(known);
        let session = create_session(wire, known, slots).await?;
        known.sequence = known.sequence.wrapping_add(1);
        self.scope = Some(known.server.scope.clone());
        Ok(session)
    }

    /// Creates another session of the same client; `None` if the server no longer knows the client.
    pub(super) async fn new_session(&mut self, wire: &Wire<'_>, slots: u32) -> Result<Option<Session>> {
        let Some(known) = &mut self.known else { return Ok(None) };
        match create_session(wire, known, slots).await {
            Ok(session) => {
                known.sequence = known.sequence.wrapping_add(1);
                Ok(Some(session))
            }
            // An unexpected sequence id is as bad as an unknown client: both start over.
            Err(error) if matches!(error.v4_status(), Some(Status::StaleClientid | Status::SeqMisordered)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
