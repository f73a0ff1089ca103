//! The users whose calls go through one mount.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use client_calls::Principal;

use crate::cache::Order;
use crate::{Connection, Credentials, v4};

/// The most users that are kept ready, besides the mount's own.
const MAX_KEPT: usize = 1024;

/// The connections of one user's calls.
#[derive(Debug)]
pub(crate) struct User {
    pub(super) connections: Box<[Connection]>,
    /// The client of NFSv4.
    pub(super) v4: Option<v4::Client>,
}

impl User {
    pub(super) fn new(connections: Box<[Connection]>, v4: Option<v4::Client>) -> Arc<User> {
        Arc::new(User { connections, v4 })
    }

    fn acting_as(&self, principal: &Arc<Principal>) -> Arc<User> {
        let connections = self.connections.iter().map(|connection| connection.acting_as(principal)).collect();
        User::new(connections, self.v4.as_ref().map(|client| client.acting_as(principal)))
    }

    pub(super) fn principal(&self) -> &Arc<Principal> {
        self.connections[0].principal()
    }
}

/// The users of a mount.
#[derive(Debug)]
pub(crate) struct Users {
    /// The user who mounted.
    pub(super) own: Arc<User>,
    others: Mutex<Order<Credentials, Arc<User>>>,
    /// Whether there was ever another user than the mount's own.
    are_several: AtomicBool,
}

impl Users {
    pub(super) fn new(own: Arc<User>) -> Users {
        Users { own, others: Mutex::default(), are_several: AtomicBool::new(false) }
    }

    /// The mount's own client of NFSv4.
    pub(super) fn own_client(&self) -> Option<&v4::Client> {
        self.own.v4.as_ref()
    }

    /// Whether cached data may have been fetched by another user.
    pub(super) fn are_several(&self) -> bool {
        self.are_several.load(Ordering::Relaxed)
    }

    pub(super) fn get(&self, credentials: &Credentials) -> Arc<User> {
        if credentials == self.own.principal().credentials() {
            return Arc::clone(&self.own);
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(credentials) {
            return Arc::clone(known);
        }
        self.are_several.store(true, Ordering::Relaxed);
        let user = self.own.acting_as(&Principal::new(credentials));
        others.insert(credentials.clone(), Arc::clone(&user));
        if others.len() > MAX_KEPT {
            others.pop_oldest();
        }
        user
    }
}
