//! A server's state driven by hand: a clock that the test turns, records that survive a restart, clients in one line.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use state::*;

/// Client records in memory, shared between the boots of one test.
#[derive(Debug, Clone, Default)]
pub struct Records(pub Arc<Mutex<Vec<ClientRecord>>>, Arc<Mutex<Vec<ClientRecord>>>, Arc<Faults>);

/// How the store is, and how often it was changed.
#[derive(Debug, Default)]
pub struct Faults {
    fails: AtomicBool,
    is_full: AtomicBool,
    changes: AtomicUsize,
}

impl Records {
    /// Lets every change fail, or none.
    pub fn set_failing(&self, failing: bool) {
        self.2.fails.store(failing, Ordering::Relaxed);
        self.2.is_full.store(false, Ordering::Relaxed);
    }

    /// Lets every change fail that takes space.
    pub fn set_full(&self, full: bool) {
        self.2.is_full.store(full, Ordering::Relaxed);
    }

    /// Whether there are changes that could not be written.
    pub fn is_behind(&self) -> bool {
        *self.0.lock().unwrap() != *self.1.lock().unwrap()
    }

    pub fn changes(&self) -> usize {
        self.2.changes.load(Ordering::Relaxed)
    }

    /// Writes what the records are to be, if that is possible.
    fn change(&self, change: impl FnOnce(&mut Vec<ClientRecord>)) -> Result<(), RecordsError> {
        let mut wanted = self.1.lock().unwrap();
        change(&mut wanted);
        self.2.changes.fetch_add(1, Ordering::Relaxed);
        if self.2.fails.load(Ordering::Relaxed) || self.2.is_full.load(Ordering::Relaxed) {
            return Err(RecordsError("no space".to_owned()));
        }
        *self.0.lock().unwrap() = wanted.clone();
        Ok(())
    }
}

impl ClientRecords for Records {
    fn load(&mut self) -> Result<Vec<ClientRecord>, RecordsError> {
        let stored = self.0.lock().unwrap().clone();
        *self.1.lock().unwrap() = stored.clone();
        Ok(stored)
    }

    fn add(&mut self, record: &ClientRecord) -> Result<(), RecordsError> {
        self.change(|records| {
            records.retain(|one| (one.kind, &one.name) != (record.kind, &record.name));
            records.push(record.clone());
        })
    }

    fn remove(&mut self, names: &[(RecordKind, &[u8])]) -> Result<(), RecordsError> {
        self.change(|records| records.retain(|one| !names.contains(&(one.kind, &one.name))))
    }

    fn mark(&mut self, kind: RecordKind, name: &[u8], revoked: bool) -> Result<(), RecordsError> {
        self.change(|records| {
            let found = records.iter_mut().filter(|one| one.kind == kind && *one.name == *name);
            found.for_each(|record| record.revoked = revoked);
        })
    }

    fn give_up(&mut self) -> Result<(), RecordsError> {
        if self.2.fails.load(Ordering::Relaxed) {
            return Err(RecordsError("the disk is broken".to_owned()));
        }
        self.0.lock().unwrap().clear();
        Ok(())
    }
}

/// Takes the steps of long work until the last one, as a server does.
pub fn in_steps<T>(mut step: impl FnMut() -> Result<T, StateError>) -> Result<T, StateError> {
    loop {
        match step() {
            Err(StateError::Unfinished) => {}
            finished => return finished,
        }
    }
}

pub struct World {
    pub state: State,
    pub now: Duration,
    pub records: Records,
    pub boot: u32,
    /// Whether the simulation tells what happens.
    pub traced: bool,
}

/// An NFSv4.1 client with one session.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    pub id: ClientId,
    pub session: SessionId,
}

impl World {
    pub fn new() -> World {
        World::with(Limits::default())
    }

    pub fn with(limits: Limits) -> World {
        World::on_host(limits, Box::new(NoHostLocks))
    }

    pub fn on_host(limits: Limits, host: Box<dyn HostLocks>) -> World {
        let (records, now) = (Records::default(), Duration::from_secs(1000));
        let state = State::new(500, limits, Box::new(records.clone()), host, now).unwrap();
        World { state, now, records, boot: 500, traced: false }
    }

    /// Kills the server and starts it again; only the records are left.
    pub fn restart(&mut self) {
        self.boot += 1;
        let limits = self.state.limits().clone();
        self.state =
            State::new(self.boot, limits, Box::new(self.records.clone()), Box::new(NoHostLocks), self.now).unwrap();
    }

    pub fn trace(&self, what: std::fmt::Arguments<'_>) {
        if self.traced {
            println!("{:>10.3} {what}", self.now.as_secs_f64());
        }
    }

    pub fn sleep(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    pub fn tick(&self) {
        while self.state.tick(self.now) {}
    }

    pub fn exchange(&self, owner: &str, verifier: u64, principal: &str) -> Result<ExchangedId, StateError> {
        self.state.exchange_id(self.now, &exchange_args(owner, verifier, principal, false))
    }

    pub fn exchange_as(&self, args: &ExchangeIdArgs<'_>) -> ExchangedId {
        self.state.exchange_id(self.now, args).unwrap()
    }

    pub fn update(&self, owner: &str, verifier: u64, principal: &str) -> Result<ExchangedId, StateError> {
        self.state.exchange_id(self.now, &exchange_args(owner, verifier, principal, true))
    }

    pub fn create_session(&self, id: ClientId, sequence: u32) -> Result<CreatedSession, StateError> {
        self.state.create_session(self.now, &session_args(id, sequence))
    }

    /// A 4.1 client with a session that has not sent RECLAIM_COMPLETE.
    pub fn newcomer(&self, owner: &str) -> Client {
        let id = self.exchange(owner, 1, "alice").unwrap();
        let session = self.create_session(id.client, id.sequence).unwrap().session;
        Client { id: id.client, session }
    }

    /// A 4.1 client that is ready to work.
    pub fn client(&self, owner: &str) -> Client {
        let client = self.newcomer(owner);
        self.state.reclaim_complete(self.now, client.id, false).unwrap();
        client
    }

    /// A 4.1 client that has a file of its own open, so that a restart waits for it.
    pub fn holder(&self, owner: &str) -> Client {
        let client = self.client(owner);
        self.open_rw(client.id, "holder", 1 << 32 | client.id.0);
        client
    }

    /// A confirmed 4.0 client.
    pub fn client40(&self, name: &str, verifier: u64) -> ClientId {
        let args = set_client_id_args(name, verifier, "alice");
        let (id, confirm) = self.state.setclientid(self.now, &args).unwrap();
        self.state.setclientid_confirm(self.now, id, confirm, &Principal::new(b"alice")).unwrap();
        self.state.callback_path_40(id, true);
        id
    }

    pub fn sequence(&self, client: Client, slot: u32, sequence: u32) -> Result<Sequenced, StateError> {
        self.state.sequence(self.now, &sequence_args(client.session, slot, sequence))
    }

    pub fn open(
        &self,
        client: ClientId,
        owner: &str,
        file: u64,
        how: (ShareAccess, ShareDeny),
    ) -> Result<Opened, StateError> {
        self.state.open(self.now, &open_args(client, owner, file, how))
    }

    pub fn open_rw(&self, client: ClientId, owner: &str, file: u64) -> Stateid {
        let mut args = open_args(client, owner, file, (ShareAccess::BOTH, ShareDeny::NONE));
        args.want = DelegationWant::None;
        self.state.open(self.now, &args).unwrap().stateid
    }

    /// The first lock of a lock owner under an open.
    pub fn lock_new(
        &self,
        client: ClientId,
        open: &Stateid,
        owner: &str,
        wanted: Wanted,
    ) -> Result<Stateid, StateError> {
        let locker = Locker::New { open, owner: owner.as_bytes() };
        self.state.lock(self.now, &lock_args(StateidScope::V41(client), locker, wanted))
    }

    pub fn lock_more(&self, client: ClientId, lock: &Stateid, wanted: Wanted) -> Result<Stateid, StateError> {
        self.state.lock(self.now, &lock_args(StateidScope::V41(client), Locker::Existing(lock), wanted))
    }

    pub fn io(&self, client: ClientId, stateid: &Stateid, file: u64, io: IoKind) -> Result<(), StateError> {
        self.state.check_io(self.now, StateidScope::V41(client).of(stateid), &key(file), io)
    }

    pub fn events(&self) -> Vec<Event> {
        std::iter::from_fn(|| self.state.poll_event()).collect()
    }

    pub fn flags(&self, client: Client, sequence: u32) -> StatusFlags {
        match self.sequence(client, 7, sequence).unwrap() {
            Sequenced::Execute(turn, reply) => {
                turn.finish(b"");
                reply.flags
            }
            Sequenced::Replay(_) => panic!("the slot was used"),
        }
    }
}

/// What is to be locked: file, offset, length, whether exclusively.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub file: u64,
    pub range: ByteRange,
    pub exclusive: bool,
    pub blocking: bool,
    pub reclaim: bool,
}

pub fn write_lock(file: u64, offset: u64, length: u64) -> Wanted {
    let range = ByteRange::nfs4(offset, length).unwrap();
    Wanted { file, range, exclusive: true, blocking: false, reclaim: false }
}

pub fn read_lock(file: u64, offset: u64, length: u64) -> Wanted {
    Wanted { exclusive: false, ..write_lock(file, offset, length) }
}

pub fn lock_args(scope: StateidScope, locker: Locker<'_>, wanted: Wanted) -> LockArgs<'_> {
    let Wanted { file, range, exclusive, blocking, reclaim } = wanted;
    LockArgs { scope, file: key(file), locker, range, exclusive, blocking, reclaim }
}

/// Where a host is.
pub fn origin(host: u8) -> Origin {
    Origin::of([192, 0, 2, host].into())
}

pub fn key(file: u64) -> FileKey {
    FileKey { export: 1, node: vfs::Handle::from_u64(file) }
}

pub const READ: (ShareAccess, ShareDeny) = (ShareAccess::READ, ShareDeny::NONE);
pub const WRITE: (ShareAccess, ShareDeny) = (ShareAccess::WRITE, ShareDeny::NONE);
pub const BOTH: (ShareAccess, ShareDeny) = (ShareAccess::BOTH, ShareDeny::NONE);

pub fn open_args(client: ClientId, owner: &str, file: u64, how: (ShareAccess, ShareDeny)) -> OpenArgs<'_> {
    OpenArgs {
        client,
        owner: owner.as_bytes(),
        file: key(file),
        access: how.0,
        deny: how.1,
        claim: Claim::New,
        want: DelegationWant::None,
        leased: false,
        change: 0,
        worker: 0,
        handle: &|| (*b"handle").into(),
    }
}

pub fn channel() -> ChannelAttributes {
    ChannelAttributes {
        max_request_bytes: 8192,
        max_response_bytes: 8192,
        max_response_cached_bytes: 4096,
        max_operations: 64,
        max_requests: 8,
    }
}

pub fn session_args(client: ClientId, sequence: u32) -> CreateSessionArgs {
    CreateSessionArgs {
        client,
        sequence,
        fore: channel(),
        back: channel(),
        back_channel: true,
        minor_version: 1,
        program: 0x4000_0000,
        security: vec![CallbackSecurity::None],
        connection: 1,
        principal: Principal::new(b"alice"),
    }
}

pub fn exchange_args<'a>(owner: &'a str, verifier: u64, principal: &str, update: bool) -> ExchangeIdArgs<'a> {
    ExchangeIdArgs {
        owner: owner.as_bytes(),
        verifier: verifier.to_be_bytes(),
        update,
        principal: Principal::new(principal.as_bytes()),
        origin: origin(1),
    }
}

pub fn set_client_id_args<'a>(name: &'a str, verifier: u64, principal: &str) -> SetClientIdArgs<'a> {
    let callback = Callback40 { program: 1, ident: 2, netid: "tcp".into(), address: "127.0.0.1.3.255".into() };
    SetClientIdArgs {
        name: name.as_bytes(),
        verifier: verifier.to_be_bytes(),
        callback: Some(callback),
        principal: Principal::new(principal.as_bytes()),
        origin: origin(1),
    }
}

pub fn sequence_args(session: SessionId, slot: u32, sequence: u32) -> SequenceArgs {
    SequenceArgs { session, slot, sequence, highest_slot: slot, cache_this: true, connection: 1, digest: 99 }
}

pub fn is_denied<T>(result: Result<T, StateError>) -> bool {
    matches!(result, Err(StateError::Denied(_)))
}
