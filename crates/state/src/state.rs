//! The state of one server, shared by its threads.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::account::{Kind, Pool};
use crate::core::{Core, Shared};
use crate::grace::GracePeriod;
use crate::guard::GuardTable;
use crate::host_leases::Hold;
use crate::nlm::NlmHosts;
use crate::origin::Origins;
use crate::owner::Owners;
use crate::recall::Recalls;
use crate::records::{ClientRecords, RecordsError};
use crate::session::SessionTable;
use crate::stateid_table::StateidTable;
use crate::sync::lock;
use crate::waiter::{WaitingFiles, Waking};
use crate::{Event, HostLocks, Limits, NoHostLeases};

/// All state of a server's clients. Every method may be called from any thread.
///
/// Times are durations since a fixed start of the caller's choice. They never go back by more than the duration of
/// overlapping calls.
///
/// ```
/// use std::time::Duration;
/// use state::{Limits, NoHostLocks, NoRecords, State};
///
/// let limits = Limits::default();
/// let state = State::new(1_700_000_000, limits, Box::new(NoRecords), Box::new(NoHostLocks), Duration::ZERO)?;
/// assert!(!state.in_grace(Duration::ZERO));
/// # Ok::<(), state::RecordsError>(())
/// ```
pub struct State {
    pub(crate) shared: Arc<Shared>,
    core: Mutex<Core>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State(boot {})", self.shared.boot)
    }
}

/// The amounts of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Census {
    /// Client ids, confirmed and not.
    pub clients: usize,
    /// Open owners, lock owners and owners of the lock protocol.
    pub owners: usize,
    /// Files with any state.
    pub files: usize,
    /// Opens, revoked ones included.
    pub opens: usize,
    /// Lock stateids.
    pub lock_states: usize,
    /// Locked ranges.
    pub locks: usize,
    /// Delegations.
    pub delegations: usize,
    /// Ended clients and hosts whose state is still being removed.
    pub removing: usize,
}

impl State {
    /// Starts with only the records of earlier boots; if there are any, the grace period begins.
    ///
    /// `boot` is a number that no earlier boot used, such as the time in seconds; it is neither 0 nor all ones.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub fn new(
        boot: u32,
        limits: Limits,
        mut records: Box<dyn ClientRecords>,
        host: Box<dyn HostLocks>,
        now: Duration,
    ) -> Result<State, RecordsError> {
        let grace = GracePeriod::new(records.load()?, now, limits.grace);
        let shared = Arc::new(Shared {
            pool: Pool::new(&limits, !grace.is_over()),
            limits,
            // The reserved stateids begin with these bits.
            boot: boot.clamp(1, u32::MAX - 1),
            sessions: SessionTable::new(),
            stateids: StateidTable::new(),
            guards: GuardTable::new(),
            events: AtomicUsize::new(0),
            grace: AtomicBool::new(!grace.is_over()),
        });
        let core = Core {
            shared: Arc::clone(&shared),
            clients: BTreeMap::new(),
            last_client: 0,
            last_confirm: 0,
            sweep_from: 0,
            slots_from: 0,
            has_reduced_sessions: false,
            courtesy_last_round: 0,
            courtesy_this_round: 0,
            names40: HashMap::new(),
            names41: HashMap::new(),
            // A client identifies the session of a callback by its ID and the server's address, which another server
            // may share.
            last_session: RandomState::new().hash_one(boot) >> 1,
            origins: Origins::default(),
            states: BTreeMap::new(),
            files: Default::default(),
            owners: Owners::default(),
            removing: VecDeque::new(),
            removing_hosts: VecDeque::new(),
            nlm: NlmHosts::default(),
            recalls: Recalls::default(),
            waking: Waking::No,
            waiting_files: WaitingFiles::new(),
            waiting_from: None,
            grace,
            records,
            is_store_behind: false,
            host,
            leases: Box::new(NoHostLeases),
            ended_holds: Vec::new(),
            events: VecDeque::new(),
        };
        Ok(State { shared, core: Mutex::new(core) })
    }

    /// The limits that this state was made with.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// The next message that the server must send, if any. Without events, it takes no lock.
    pub fn poll_event(&self) -> Option<Event> {
        if self.shared.events.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.core().next_event()
    }

    /// The amounts of state.
    pub fn census(&self) -> Census {
        let core = self.core();
        let held = |kind| core.shared.pool.held(kind);
        Census {
            clients: core.clients.len(),
            owners: core.owners.len(),
            files: core.files.len(),
            opens: held(Kind::Open),
            lock_states: held(Kind::LockState),
            locks: held(Kind::Lock),
            delegations: held(Kind::Delegation),
            removing: core.removing.len() + core.removing_hosts.len(),
        }
    }

    pub(crate) fn core(&self) -> CoreGuard<'_> {
        CoreGuard { core: lock(&self.core), ended_holds: Vec::new() }
    }
}

/// The core, locked. What ended meanwhile is dropped after the lock: the fields drop in this order.
pub(crate) struct CoreGuard<'a> {
    core: MutexGuard<'a, Core>,
    ended_holds: Vec<Hold>,
}

impl Deref for CoreGuard<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl DerefMut for CoreGuard<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        &mut self.core
    }
}

impl Drop for CoreGuard<'_> {
    fn drop(&mut self) {
        self.ended_holds = std::mem::take(&mut self.core.ended_holds);
    }
}
