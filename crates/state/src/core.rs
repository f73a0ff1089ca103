//! The state behind the global mutex: clients, owners, files and what they hold, which change rarely enough.
//!
//! The parts that the hot path needs are published in [`Shared`]; only code that holds the mutex writes there.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::account::{Account, Pool};
use crate::client::{Client, OwnerNames};
use crate::file::{File, StateidEntry};
use crate::grace::GracePeriod;
use crate::guard::GuardTable;
use crate::host_leases::Hold;
use crate::ids::{OwnerId, StateKey};
use crate::nlm::NlmHosts;
use crate::origin::Origins;
use crate::owner::Owners;
use crate::recall::Recalls;
use crate::records::ClientRecords;
use crate::session::SessionTable;
use crate::stateid_table::StateidTable;
use crate::waiter::{WaitingFiles, Waking};
use crate::{ClientId, Event, FileKey, HostLeases, HostLocks, Limits, Origin, StateError, Stateid};

/// The state that is read without the mutex.
#[derive(Debug)]
pub(crate) struct Shared {
    pub limits: Limits,
    pub boot: u32,
    pub sessions: SessionTable,
    pub stateids: StateidTable,
    pub guards: GuardTable,
    pub events: AtomicUsize,
    pub pool: Arc<Pool>,
    /// Whether the grace period may still last.
    pub grace: AtomicBool,
}

pub(crate) struct Core {
    pub shared: Arc<Shared>,
    pub clients: BTreeMap<u32, Client>,
    pub last_client: u32,
    pub last_confirm: u32,
    /// The position of the sweep over the clients.
    pub sweep_from: u32,
    /// The position of the sweep over the sessions' slots.
    pub slots_from: u32,
    /// Whether sessions have fewer slots than were negotiated.
    pub has_reduced_sessions: bool,
    /// The numbers of overdue clients with state in the last whole sweep and in the current one.
    pub courtesy_last_round: usize,
    pub courtesy_this_round: usize,
    pub names40: HashMap<Arc<[u8]>, OwnerNames>,
    pub names41: HashMap<Arc<[u8]>, OwnerNames>,
    pub origins: Origins,
    pub last_session: u64,
    pub states: BTreeMap<StateKey, StateidEntry>,
    pub files: foldhash::HashMap<Arc<FileKey>, File>,
    pub owners: Owners,
    /// Removed clients whose states still exist.
    pub removing: VecDeque<u32>,
    /// Removed hosts of the lock protocol whose owners still exist.
    pub removing_hosts: VecDeque<u32>,
    pub nlm: NlmHosts,
    pub recalls: Recalls,
    pub waking: Waking,
    pub waiting_files: WaitingFiles,
    /// The position of the sweep over the waiting files.
    pub waiting_from: Option<Arc<FileKey>>,
    pub grace: GracePeriod,
    pub records: Box<dyn ClientRecords>,
    /// Whether the store failed to write a change.
    pub is_store_behind: bool,
    pub host: Box<dyn HostLocks>,
    pub leases: Box<dyn HostLeases>,
    /// Holds that are dropped after the mutex is released, because that may wait for storage.
    pub ended_holds: Vec<Hold>,
    pub events: VecDeque<Event>,
}

impl Core {
    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// The client of this ID, confirmed or not.
    pub(crate) fn client(&self, id: ClientId) -> Result<&Client, StateError> {
        self.ours(id)?;
        self.clients.get(&id.number()).ok_or(StateError::StaleClientid)
    }

    pub(crate) fn client_mut(&mut self, id: ClientId) -> Result<&mut Client, StateError> {
        self.ours(id)?;
        self.clients.get_mut(&id.number()).ok_or(StateError::StaleClientid)
    }

    fn ours(&self, id: ClientId) -> Result<(), StateError> {
        if id.boot() == self.shared.boot { Ok(()) } else { Err(StateError::StaleClientid) }
    }

    /// The confirmed client of this ID, with its lease renewed.
    ///
    /// A client ID of this boot without a client has expired (RFC 7530 §9.1.1).
    pub(crate) fn live_client(&mut self, now: Duration, id: ClientId) -> Result<&mut Client, StateError> {
        let given_out = id.boot() == self.shared.boot && (1..=self.last_client).contains(&id.number());
        match self.client_mut(id) {
            Ok(client) if client.confirmed && client.lease.renew(now) => Ok(client),
            Ok(client) if client.confirmed => Err(StateError::Expired),
            Err(_) if given_out => Err(StateError::Expired),
            _ => Err(StateError::StaleClientid),
        }
    }

    /// The account of a client.
    pub(crate) fn account_of(&self, client: u32) -> Result<&Arc<Account>, StateError> {
        Ok(&self.clients.get(&client).ok_or(StateError::Expired)?.account)
    }

    /// The origin of a client.
    pub(crate) fn origin_of(&self, client: u32) -> Option<Origin> {
        self.account_of(client).ok().map(|account| account.origin)
    }

    /// The account of an owner of any protocol.
    pub(crate) fn account_of_owner(&self, owner: OwnerId) -> Result<&Arc<Account>, StateError> {
        Ok(self.owners.get(owner).ok_or(StateError::BadStateid)?.charge.account())
    }

    /// An unused client ID of this boot.
    pub(crate) fn new_client_id(&mut self) -> Result<ClientId, StateError> {
        self.last_client = self.last_client.checked_add(1).ok_or(StateError::Resource)?;
        Ok(ClientId::new(self.shared.boot, self.last_client))
    }

    /// A key for a new state of `client`.
    pub(crate) fn new_key(&mut self, client: u32) -> Result<StateKey, StateError> {
        let mut number = self.clients.get(&client).ok_or(StateError::Expired)?.last_state;
        // Numbers wrap around after 2^32 states. Those in use are skipped, and a limit keeps them few.
        loop {
            number = number.wrapping_add(1);
            let key = StateKey::new(client, number);
            if !self.states.contains_key(&key) {
                self.clients.entry(client).and_modify(|client| client.last_state = number);
                return Ok(key);
            }
        }
    }

    pub(crate) fn stateid(&self, key: StateKey) -> Stateid {
        Stateid::of(self.shared.boot, key, self.states.get(&key).map_or(1, |held| held.seqid))
    }

    /// Whether the client has an open, a lock or a delegation, or a revoked one that it has not acknowledged.
    pub(crate) fn has_state(&self, client: u32) -> bool {
        self.states_of(client).next().is_some()
    }

    pub(crate) fn states_of(&self, client: u32) -> impl Iterator<Item = (StateKey, &StateidEntry)> {
        self.states.range(StateKey::new(client, 0)..=StateKey::new(client, u32::MAX)).map(|(key, held)| (*key, held))
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.events.push_back(event);
        self.shared.events.store(self.events.len(), Ordering::Release);
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        self.shared.events.store(self.events.len(), Ordering::Release);
        event
    }
}
