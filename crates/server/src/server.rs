use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use buffer::Output;
use state::{ClientRecords, GraceReport, Limits, NoRecords, RecordsError, State};

use crate::callout::{Callouts, Destination};
use crate::change::Changes;
use crate::connections::{ConnectionWatch, Connections};
use crate::counters::Counters;
use crate::exports::{Export, ExportTable, ExportTableError};
use crate::handle::HandleKey;
use crate::host_locks::ExportedLocks;
use crate::in_steps::BETWEEN_STEPS;
use crate::mount::MountList;
use crate::nlm::{self, Waits};
use crate::nsm::{Notices, Restarts};
use crate::open_files::{OpenFileCounts, OpenFileLimits, OpenFiles};
use crate::owners::{NameService, Owners};
use crate::replay::judge::judge;
use crate::replay::{MadeBefore, ReplayCache, ReplyLog};
use crate::request::{Answer, Peer, Request};
use crate::rpcbind::Registry;
use crate::v2::CookieJar;
use crate::v4::{Callbacks, Copies, CopyNotices, PausedCompounds};

/// What READ_PLUS of NFSv4.2 tells of holes (RFC 7862 §15.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReadPlusMode {
    /// Nothing: there is no such operation, and clients read with READ.
    None,
    /// Nothing: every reply is one segment of data.
    Data,
    /// The holes that the file system knows.
    #[default]
    Extents,
    /// The same, and blocks of zeros in the data, which costs a look at every byte.
    Zeros,
}

/// Sizes and limits of a [`Server`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many workers call [`Server::answer`], loops and blocking threads together.
    pub workers: usize,
    /// The most bytes of a READ or a WRITE over TCP, up to 1 MiB.
    pub max_transfer_bytes: u32,
    /// What READ_PLUS tells of holes.
    pub read_plus: ReadPlusMode,
    /// From how many bytes on a READ of NFSv3, 4.1 and 4.2 is sent from the file itself, where that never waits, and not copied before; `None`
    /// copies always. A third of it is enough for the first of the replies that leave together.
    pub sendfile_bytes: Option<u32>,
    /// Whether WRITEs of NFSv3 that lie one right behind the other and came together are carried out as one.
    pub gather_writes: bool,
    /// How many replies to calls that must not happen twice are kept.
    pub replay_entries: usize,
    /// For how long they are kept.
    pub replay_age: Duration,
    /// How many open files each worker keeps; 0 opens and closes a file for each call.
    pub open_files_per_worker: usize,
    /// How many open files all workers keep.
    pub max_open_files: usize,
    /// How long an open file is kept that nobody uses: this time to twice that.
    pub open_file_idle: Duration,
    /// A number that is another one each time the server is started: the first write verifier. Its upper half alone
    /// differs too: it is the number of the boot that NFSv4's client ids and stateids carry.
    pub instance: u64,
    /// How long a client of NFSv4 may be silent before others may take what it holds (RFC 8881 §8.3), in whole seconds.
    pub lease: Duration,
    /// How long clients may reclaim what they held before a restart, and nobody gets anything new (RFC 8881 §8.4.2).
    pub grace: Duration,
    /// How much memory the state of clients may take, in bytes: client ids, sessions, opens, locks and so on. Fewer of them are
    /// allowed where this is less than their limits need.
    pub state_bytes: usize,
    /// The secret that file handles are checked with.
    pub handle_key: HandleKey,
    /// How a thread that may wait does so, while a delegation is on its way back.
    pub pause: fn(Duration),
    /// The time of day, which only rpcbind's GETTIME asks for.
    pub wall_clock: fn() -> SystemTime,
}

impl Settings {
    /// What tells this server from all others, for clients that reach it at several addresses (RFC 8881 §2.10.4).
    pub(crate) fn server_owner(&self) -> [u8; 16] {
        let mut owner = *b"wharf-server-\0\0\0";
        owner[8..].copy_from_slice(&self.handle_key.checksum(b"server owner").to_be_bytes());
        owner
    }

    /// The number of this start as the status monitor tells it: odd, since the server is up, and another one each time.
    pub(crate) fn status_number(&self) -> i32 {
        ((self.boot() << 1 | 1) & i32::MAX as u32) as i32
    }

    fn open_file_limits(&self) -> OpenFileLimits {
        OpenFileLimits { per_worker: self.open_files_per_worker, total: self.max_open_files }
    }

    /// The number of this boot, which client ids and stateids carry.
    fn boot(&self) -> u32 {
        (self.instance >> 32) as u32
    }

    /// From how many bytes on READ sends from the file if nothing else is said: below, a copy costs less than a system call.
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
            open_file_idle: Duration::from_secs(10),
            instance,
            lease: Duration::from_secs(90),
            grace: Duration::from_secs(90),
            state_bytes: usize::MAX,
            handle_key,
            pause: std::thread::sleep,
            wall_clock: SystemTime::now,
        }
    }
}

/// The protocol programs over a table of exports. One server is shared by all threads.
pub struct Server {
    pub(crate) settings: Settings,
    pub(crate) exports: Arc<ArcSwap<ExportTable>>,
    pub(crate) replay: ReplayCache,
    /// The replies to WRITEs in datagrams, apart from the others, which they would soon push out.
    pub(crate) replay_of_writes: ReplayCache,
    pub(crate) connections: ConnectionWatch,
    pub(crate) files: OpenFiles,
    pub(crate) changes: Changes,
    pub(crate) counters: Counters,
    pub(crate) mounts: MountList,
    pub(crate) registry: Registry,
    pub(crate) state: State,
    pub(crate) paused: PausedCompounds,
    pub(crate) callouts: Callouts,
    pub(crate) callbacks: Callbacks,
    pub(crate) copies: Copies,
    pub(crate) copy_notices: CopyNotices,
    pub(crate) waits: Waits,
    pub(crate) notices: Notices,
    pub(crate) restarts: Restarts,
    pub(crate) cookies: CookieJar,
    /// Without a domain owners are numbers.
    pub(crate) owners: Option<Owners>,
    write_verifier: AtomicU64,
}

impl Server {
    /// Makes a server of `exports`.
    ///
    /// # Errors
    /// When two exports cannot be told apart.
    pub fn new(settings: Settings, exports: Vec<Export>) -> Result<Server, ExportTableError> {
        let exports = ExportTable::new(exports, settings.handle_key.clone())?;
        exports.draw_borders();
        let exports = Arc::new(ArcSwap::from_pointee(exports));
        let state = new_state(&settings, &exports, Box::new(NoRecords)).expect("there are no records to be read");
        Ok(Server {
            exports,
            replay: ReplayCache::new(settings.replay_entries, settings.replay_age, &settings.handle_key),
            replay_of_writes: ReplayCache::new(settings.replay_entries, settings.replay_age, &settings.handle_key)
                .of_writes(),
            connections: ConnectionWatch::default(),
            files: OpenFiles::new(settings.workers, settings.open_file_limits(), settings.open_file_idle),
            changes: Changes::new(),
            counters: Counters::new(settings.workers),
            mounts: MountList::default(),
            registry: Registry::default(),
            state,
            paused: PausedCompounds::default(),
            callouts: Callouts::default(),
            callbacks: Callbacks::default(),
            copies: Copies::new(settings.boot()),
            waits: Waits::default(),
            notices: Notices::default(),
            restarts: Restarts::default(),
            copy_notices: CopyNotices::new(&settings.handle_key, settings.instance),
            cookies: CookieJar::new(&settings.handle_key),
            owners: None,
            write_verifier: AtomicU64::new(settings.instance),
            settings,
        })
    }

    /// Lets NFSv4's clients reclaim what they hold after a restart: `records` hold the clients of the boots before, and are told
    /// of those of this one. To be called before the first message is answered.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub fn keep_clients(&mut self, records: Box<dyn ClientRecords>) -> Result<(), RecordsError> {
        self.state = new_state(&self.settings, &self.exports, records)?;
        self.notices.begin(self.state.nlm_hosts_to_notify());
        Ok(())
    }

    /// Calls owners of files `name@domain` to clients of NFSv4, with the names that `service` knows, where they are numbers else
    /// (RFC 8881 §5.9). To be called before the first message is answered.
    pub fn name_owners(&mut self, domain: String, service: Box<dyn NameService>) {
        self.owners = Some(Owners::new(domain, service));
    }

    /// Lets the replies to calls that must not happen twice outlive the process: takes up those that `records` hold, which are
    /// what `log` was given before, and gives it the further ones. To be called before the first message is answered.
    ///
    /// Calls that the records show as begun and not answered are compared with the files ([`crate::ReplyLog`]).
    /// After a power failure, a write log knows what was `made`, too.
    pub fn keep_replies(&mut self, log: Arc<dyn ReplyLog>, records: &[Vec<u8>], made: &[MadeBefore]) {
        let exports = self.exports.load_full();
        let broken = self.replay.set_log(log, (records, made), |change| judge(&exports, change));
        if broken > 0 {
            tracing::warn!(
                broken,
                "some kept replies cannot be read: calls that are sent again may be carried out twice"
            );
        }
    }

    /// Answers one message by appending its reply, without a record mark, to `output`.
    pub fn answer(&self, request: &Request<'_>, output: &mut Output) -> Answer {
        crate::dispatch::answer(self, request, output)
    }

    /// Puts other exports in force. Calls that are under way finish with the old ones; clients of exports that are in both
    /// notice nothing; handles of those that are gone become stale.
    ///
    /// # Errors
    /// When two exports cannot be told apart; the old ones stay in force.
    pub fn reload(&self, exports: Vec<Export>) -> Result<(), ExportTableError> {
        let table = Arc::new(ExportTable::new(exports, self.settings.handle_key.clone())?);
        table.draw_borders();
        self.exports.store(table.clone());
        self.files.retain(|file| table.showing(file).is_some());
        Ok(())
    }

    /// Lets the file systems tidy up. To be called every few seconds from a thread that may wait.
    pub fn maintain(&self) {
        for export in self.exports.load().iter() {
            export.file_system.maintain();
        }
    }

    /// Does what is due by `now`: leases and the grace period end, with leases copies, calls of the server's own are sent again or given
    /// up, and files that nobody uses are closed. To be called about every second from a thread that may wait.
    pub fn tick(&self, now: Duration) {
        while self.state.tick(now) {
            (self.settings.pause)(BETWEEN_STEPS);
        }
        self.files.sweep(now);
        self.replay.expire_earlier(now);
        self.tick_callouts(now);
        self.retry_callbacks(now);
        self.sweep_copies(now);
        nlm::retry(self, now);
        self.notices.send(self, now);
    }

    /// Lets the server ask whether clients have the replies that were sent to them: a call over one connection that has
    /// the bytes of a call over another one is a retransmission only if they may lack the first one's reply.
    pub fn watch_connections(&self, connections: Box<dyn Connections>) {
        self.connections.set(connections);
    }

    /// Takes note that a connection is gone: nothing that came over it goes on, and what was asked over it is not
    /// answered. `is_delivered` says whether the client had acknowledged all replies when it closed the connection.
    pub fn disconnected(&self, peer: &Peer, is_delivered: bool, now: Duration) {
        if is_delivered {
            self.connections.delivered(peer.connection);
        }
        self.paused.forget(peer.address);
        self.state.connection_closed(peer.connection);
        self.unreachable(&Destination::Connection(peer.connection), now);
    }

    /// Whom new opens and locks wait for after a restart, `most` of them by name; `None` when they wait for nobody.
    pub fn grace_report(&self, now: Duration, most: usize) -> Option<GraceReport> {
        self.state.grace_report(now, most)
    }

    /// Ends the wait for clients that have not reclaimed yet what they held before a restart; they may not any more. Returns
    /// whether the server waited.
    ///
    /// # Errors
    /// When the records of these clients cannot be removed; the server waits on.
    pub fn end_grace(&self) -> Result<bool, RecordsError> {
        self.state.end_grace()
    }

    /// The exports in force.
    pub fn exports(&self) -> Arc<ExportTable> {
        self.exports.load_full()
    }

    /// What the caches of open files have done since the server began.
    pub fn open_files(&self) -> OpenFileCounts {
        self.files.counts()
    }

    /// What the server has done since it began.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The services that the built-in rpcbind tells of; whoever opens sockets fills it.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What goes with unstable writes: another value once some may have been lost (RFC 1813 §3.3.7).
    pub(crate) fn write_verifier(&self) -> [u8; 8] {
        self.write_verifier.load(Ordering::Acquire).to_be_bytes()
    }

    /// Notes that unstable writes may have been lost: every client then sends again what it has not committed.
    pub(crate) fn renew_write_verifier(&self) {
        self.write_verifier.fetch_add(1, Ordering::AcqRel);
    }
}

/// State of NFSv4 clients, with what was recorded of them before.
fn new_state(
    settings: &Settings,
    exports: &Arc<ArcSwap<ExportTable>>,
    records: Box<dyn ClientRecords>,
) -> Result<State, RecordsError> {
    let default = Limits::default();
    let limits = Limits {
        lease: settings.lease,
        grace: settings.grace,
        unconfirmed: settings.lease,
        // A client whose callback path is down hears of it within its lease, and has time to give back what it holds then.
        recall: settings.lease * 3 / 2,
        waiter_memory: default.waiter_memory.min(settings.lease),
        ..default
    };
    let limits = limits.within(settings.state_bytes);
    State::new(settings.boot(), limits, records, Box::new(ExportedLocks::new(exports.clone())), Duration::ZERO)
}
