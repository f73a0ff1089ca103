use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use names::NameService;
use state::{ClientRecords, GraceReport, Limits, NoRecords, RecordsError, State};

use crate::callout::{CalloutResult, Callouts};
use crate::change::ChangesInProgress;
use crate::connections::{ConnectionWatch, Connections};
use crate::cookie_jar::CookieJar;
use crate::counters::Counters;
use crate::exports::{Export, ExportTable, ExportTableError};
use crate::handle::HandleKey;
use crate::host_locks::ExportedLocks;
use crate::id_map::IdMap;
use crate::leases::{BrokenLeases, ExportedLeases};
use crate::mount::MountList;
use crate::nlm::Waits;
use crate::nsm::{Notices, Restarts};
use crate::open_files::{OpenFileCounts, OpenFileLimits, OpenFiles};
use crate::refusals::Refusals;
use crate::replay::verification::verify;
use crate::replay::{MadeBefore, ReplayCache, ReplyLog};
use crate::rpcbind::Registry;
use crate::security::SecurityFlavor;
use crate::v4::{Callbacks, Copies, CopyNotices, PausedCompounds};

/// What READ_PLUS of NFSv4.2 reports about holes (RFC 7862 §15.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReadPlusMode {
    /// READ_PLUS is not supported, and clients use READ.
    None,
    /// Nothing: each reply is one data segment.
    Data,
    /// The holes that the file system reports; among small ones, blocks of zeros too.
    #[default]
    Extents,
    /// Those, and blocks of zeros in the data, which costs a scan of every byte.
    Zeros,
}

/// The settings and limits of a [`Server`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of workers that call [`Server::answer`]: event loops and blocking threads.
    pub workers: usize,
    /// The most bytes of a READ or a WRITE over TCP, up to 1 MiB.
    pub max_transfer_bytes: u32,
    /// What READ_PLUS reports about holes.
    pub read_plus: ReadPlusMode,
    /// The smallest READ, in bytes, to send directly from the file in NFSv3, 4.1 and 4.2, if that never waits for
    /// storage. `None` always copies.
    pub sendfile_bytes: Option<u32>,
    /// Whether adjacent WRITEs of NFSv3 that arrived together run as one.
    pub gather_writes: bool,
    /// The most replies to keep for calls that are not idempotent.
    pub replay_entries: usize,
    /// The time to keep them.
    pub replay_age: Duration,
    /// The most open files that each worker caches; 0 opens and closes a file for each call.
    pub open_files_per_worker: usize,
    /// The most open files of all workers, however many connections there are.
    pub max_open_files: usize,
    /// The most open files beyond `max_open_files` while there is no connection. Each connection makes this less by 2.
    pub open_files_beside_connections: usize,
    /// The most files that stay open for their next lock, for about a second.
    pub max_unlocked_files: usize,
    /// The most files with locks that local processes see, each of which takes a file descriptor.
    pub max_locked_files: usize,
    /// The most delegations of files that local processes may change: each takes a lease of the host, with a file
    /// descriptor.
    pub max_leases: usize,
    /// The most files with clients' state that stay reachable after their last name is removed: each takes a file
    /// descriptor.
    pub max_held_files: usize,
    /// The idle time after which a file is closed: once to twice this time.
    pub open_file_idle: Duration,
    /// A number that changes with each start: the first write verifier. Its upper half alone also changes; it is the
    /// boot number in NFSv4 client IDs and stateids.
    pub instance: u64,
    /// The lease: how long an NFSv4 client may be silent before others may take its state (RFC 8881 §8.3), in whole
    /// seconds.
    pub lease: Duration,
    /// The grace period: after a restart, new opens and locks wait up to this long for clients to reclaim theirs (RFC
    /// 8881 §8.4.2).
    pub grace: Duration,
    /// The memory for clients' state, in bytes: client IDs, sessions, opens, locks and so on. A smaller value lowers
    /// their limits.
    pub state_bytes: usize,
    /// The secret key of file handles.
    pub handle_key: HandleKey,
    /// Where this server keeps its state: it differs from that of a server with a copy of the state, and stays the same
    /// over restarts. Empty without state.
    pub place: Box<[u8]>,
    /// Pauses a thread that may block, between two checks for an event such as a returned delegation.
    pub pause: fn(Duration),
    /// The time of day.
    pub wall_clock: fn() -> SystemTime,
}

impl Settings {
    /// Identifies this server to clients that reach it at several addresses (RFC 8881 §2.10.4).
    pub(crate) fn server_owner(&self) -> [u8; 16] {
        let identity = [b"server owner", &*self.place].concat();
        let mut owner = *b"wharf-server-\0\0\0";
        owner[8..].copy_from_slice(&self.handle_key.checksum(&identity).to_be_bytes());
        owner
    }

    /// The status monitor's number of this start: odd, since the server is up, and different each time.
    pub(crate) fn status_number(&self) -> i32 {
        ((self.boot() << 1 | 1) & i32::MAX as u32) as i32
    }

    fn open_file_limits(&self) -> OpenFileLimits {
        OpenFileLimits {
            per_worker: self.open_files_per_worker,
            total: self.max_open_files,
            beside_connections: self.open_files_beside_connections,
        }
    }

    /// The boot number in client IDs and stateids.
    fn boot(&self) -> u32 {
        (self.instance >> 32) as u32
    }

    /// The default of `sendfile_bytes`, in bytes: below it, a copy is cheaper than a system call.
    pub const SENDFILE_BYTES: u32 = 24 << 10;

    /// Settings with default limits for `workers` threads.
    pub fn new(workers: usize, instance: u64, handle_key: HandleKey) -> Settings {
        Settings {
            workers,
            max_transfer_bytes: 1 << 20,
            read_plus: ReadPlusMode::default(),
            sendfile_bytes: Some(Settings::SENDFILE_BYTES),
            gather_writes: true,
            replay_entries: 16_384,
            replay_age: Duration::from_secs(120),
            open_files_per_worker: 1024,
            max_open_files: usize::MAX,
            open_files_beside_connections: 0,
            max_unlocked_files: 16,
            max_locked_files: 4096,
            max_leases: 4096,
            max_held_files: 65_536,
            open_file_idle: Duration::from_secs(10),
            instance,
            lease: Duration::from_secs(90),
            grace: Duration::from_secs(90),
            state_bytes: usize::MAX,
            handle_key,
            place: Box::default(),
            pause: std::thread::sleep,
            wall_clock: SystemTime::now,
        }
    }
}

/// The protocol programs over a table of exports. All threads share one server.
pub struct Server {
    pub(crate) settings: Settings,
    pub(crate) exports: Arc<ArcSwap<ExportTable>>,
    pub(crate) replay: ReplayCache,
    /// The replies to WRITEs in datagrams. They have their own cache, since they would soon evict all others.
    pub(crate) replay_of_writes: ReplayCache,
    pub(crate) connections: ConnectionWatch,
    pub(crate) files: OpenFiles,
    pub(crate) changes: ChangesInProgress,
    pub(crate) counters: Counters,
    pub(crate) mounts: MountList,
    pub(crate) refusals: Refusals,
    pub(crate) registry: Registry,
    pub(crate) state: State,
    pub(crate) broken_leases: Arc<BrokenLeases>,
    pub(crate) paused: PausedCompounds,
    pub(crate) callouts: Callouts<Then>,
    pub(crate) callbacks: Callbacks,
    pub(crate) copies: Copies,
    pub(crate) copy_notices: CopyNotices,
    pub(crate) waits: Waits,
    pub(crate) notices: Notices,
    pub(crate) restarts: Restarts,
    pub(crate) cookies: CookieJar,
    /// Without a domain, owners are numbers.
    pub(crate) id_map: Option<IdMap>,
    /// The security flavours beside AUTH_NONE and AUTH_SYS.
    pub(crate) security: Vec<Box<dyn SecurityFlavor>>,
    write_verifier: AtomicU64,
}

/// Runs when a call of the server's own has ended, with the time of its end. It must not block.
pub(crate) type Then = Box<dyn FnOnce(&Server, CalloutResult<'_>, Duration) + Send>;

impl Server {
    /// Makes a server of `exports`.
    ///
    /// # Errors
    /// When two exports cannot be distinguished, or conflict about one directory.
    pub fn new(settings: Settings, exports: Vec<Export>) -> Result<Server, ExportTableError> {
        let exports = ExportTable::new(exports, settings.handle_key.clone())?;
        exports.draw_borders();
        let exports = Arc::new(ArcSwap::from_pointee(exports));
        let broken_leases = Arc::new(BrokenLeases::default());
        let state = new_state(&settings, &exports, &broken_leases, Box::new(NoRecords));
        let state = state.expect("there are no records to be read");
        Ok(Server {
            exports,
            replay: ReplayCache::new(settings.replay_entries, settings.replay_age, &settings.handle_key),
            replay_of_writes: ReplayCache::new(settings.replay_entries, settings.replay_age, &settings.handle_key)
                .of_writes(),
            connections: ConnectionWatch::default(),
            files: OpenFiles::new(settings.workers, settings.open_file_limits(), settings.open_file_idle),
            changes: ChangesInProgress::new(),
            counters: Counters::new(settings.workers),
            mounts: MountList::default(),
            refusals: Refusals::default(),
            registry: Registry::default(),
            state,
            broken_leases,
            paused: PausedCompounds::default(),
            callouts: Callouts::default(),
            callbacks: Callbacks::default(),
            copies: Copies::new(settings.boot()),
            waits: Waits::default(),
            notices: Notices::default(),
            restarts: Restarts::default(),
            copy_notices: CopyNotices::new(&settings.handle_key, settings.instance),
            cookies: CookieJar::new(&settings.handle_key),
            id_map: None,
            security: Vec::new(),
            write_verifier: AtomicU64::new(settings.instance),
            settings,
        })
    }

    /// Lets clients reclaim their state after a restart. `records` contain the clients of earlier boots, and store
    /// those of this one. Call it before the first message is answered.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub fn keep_clients(&mut self, records: Box<dyn ClientRecords>) -> Result<(), RecordsError> {
        self.state = new_state(&self.settings, &self.exports, &self.broken_leases, records)?;
        self.notices.begin(self.state.nlm_hosts_to_notify());
        Ok(())
    }

    /// Sends owners of files as `name@domain` to NFSv4 clients, with names from `service`; without this call, they are
    /// numbers (RFC 8881 §5.9). Call it before the first message is answered.
    pub fn name_owners(&mut self, domain: String, service: Box<dyn NameService>) {
        self.id_map = Some(IdMap::new(domain, service));
    }

    /// Answers calls of a further security flavour, in addition to AUTH_NONE and AUTH_SYS. Call it before the first
    /// message is answered.
    pub fn add_security(&mut self, flavor: Box<dyn SecurityFlavor>) {
        self.security.push(flavor);
    }

    /// Makes replies outlive the process: loads `records`, which `log` received earlier, and writes new ones to `log`.
    /// Call it before the first message is answered.
    ///
    /// Records of calls without a reply are compared with the files ([`crate::ReplyLog`]). After a power failure,
    /// `made` are the changes in a write log.
    pub fn keep_replies(&mut self, log: Arc<dyn ReplyLog>, records: &[Vec<u8>], made: &[MadeBefore]) {
        let exports = self.exports.load_full();
        let broken = self.replay.set_log(log, records, made, |change| verify(&exports, change));
        if broken > 0 {
            tracing::warn!(
                broken,
                "some kept replies cannot be read: calls that are sent again may be carried out twice"
            );
        }
    }

    /// Replaces the exports. Calls in progress finish with the old ones, clients of exports in both tables notice
    /// nothing, and handles of removed exports become stale.
    ///
    /// # Errors
    /// When two exports cannot be distinguished, or conflict about one directory; the old ones stay in force.
    pub fn reload(&self, exports: Vec<Export>) -> Result<(), ExportTableError> {
        let table = Arc::new(ExportTable::new(exports, self.settings.handle_key.clone())?);
        table.draw_borders();
        self.exports.store(table.clone());
        self.files.retain(|file| table.showing(file).is_some());
        Ok(())
    }

    /// Sets the source that knows whether clients received their replies. An equal call over another connection is a
    /// retransmission only if the first connection may have lost the reply.
    pub fn watch_connections(&self, connections: Box<dyn Connections>) {
        self.connections.set(connections);
    }

    /// The clients that delay new opens and locks after a restart, at most `most` of them by name; `None` if there are
    /// none.
    pub fn grace_report(&self, now: Duration, most: usize) -> Option<GraceReport> {
        self.state.grace_report(now, most)
    }

    /// Ends the grace period: clients that have not reclaimed their state lose it. Returns whether the grace period was
    /// active.
    ///
    /// # Errors
    /// When the records of these clients cannot be removed; the grace period continues.
    pub fn end_grace(&self) -> Result<bool, RecordsError> {
        self.state.end_grace()
    }

    /// Takes clients off the record that hold nothing. Call it at a clean stop: the next start then does not wait for
    /// them.
    pub fn release_records(&self, now: Duration) {
        self.state.release_records(now);
    }

    /// The exports in force.
    pub fn exports(&self) -> Arc<ExportTable> {
        self.exports.load_full()
    }

    /// The counters of the open file caches since the server's start.
    pub fn open_files(&self) -> OpenFileCounts {
        self.files.counts()
    }

    /// The server's counters since its start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The services of the built-in rpcbind; the owner of the sockets fills it.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The verifier of unstable writes to a file system that has had so many losses; it changes when some may have been
    /// lost (RFC 1813 §3.3.7).
    pub(crate) fn write_verifier(&self, losses: u64) -> [u8; 8] {
        self.write_verifier.load(Ordering::Acquire).wrapping_add(losses).to_be_bytes()
    }

    /// Records that unstable writes may have been lost, so that clients resend what they have not committed.
    pub(crate) fn renew_write_verifier(&self) {
        self.write_verifier.fetch_add(1, Ordering::AcqRel);
    }
}

/// The state manager, with the records of earlier boots.
fn new_state(
    settings: &Settings,
    exports: &Arc<ArcSwap<ExportTable>>,
    broken: &Arc<BrokenLeases>,
    records: Box<dyn ClientRecords>,
) -> Result<State, RecordsError> {
    let default = Limits::default();
    // The reader of a connection accepts more, so that a session can answer a request that exceeds its grant.
    let message_bytes = (rpc::record::Limits::default().max_bytes - rpc::record::OVER_GRANT_BYTES) as u32;
    let limits = Limits {
        request_bytes: message_bytes,
        response_bytes: message_bytes,
        lease: settings.lease,
        grace: settings.grace,
        unconfirmed: settings.lease,
        // A client learns within its lease that its callback path is down, and then has time to return its delegations.
        recall: settings.lease * 3 / 2,
        leases: settings.max_leases,
        locked_files: settings.max_locked_files,
        holds: settings.max_held_files,
        waiter_memory: default.waiter_memory.min(settings.lease),
        ..default
    };
    let limits = limits.within(settings.state_bytes);
    let locks = Box::new(ExportedLocks::new(exports.clone(), settings.max_unlocked_files));
    let state = State::new(settings.boot(), limits, records, locks, Duration::ZERO)?;
    state.use_leases(Box::new(ExportedLeases::new(exports.clone(), broken.clone())));
    Ok(state)
}
