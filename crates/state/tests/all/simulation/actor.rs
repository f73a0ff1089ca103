//! One simulated client: what it sends, loses, repeats, and does after a restart of either side.

use std::collections::HashMap;
use std::time::Duration;

use state::*;

use crate::simulation::model::{BYTES, Belief, Beliefs, Deleg, FILES, Locked, Open};
use testing::Random;
use testing::world::{self, World, exchange_args, in_steps, key, session_args, set_client_id_args};

pub const LEASE: Duration = Duration::from_secs(20);
pub const RECALL: Duration = Duration::from_secs(20);
const SESSION_SLOT: u32 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    V40,
    V41,
    Nlm,
}

/// A request; it carries all it needs, so that it can be repeated as it was.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    Open { file: usize, access: ShareAccess, deny: ShareDeny },
    Close { file: usize, open: Stateid },
    Lock { file: usize, open: Stateid, lock: Option<Stateid>, first: usize, length: usize, exclusive: bool, wait: bool },
    Unlock { file: usize, lock: Stateid, first: usize, length: usize },
    Return { file: usize, deleg: Stateid },
    Renew,
}

#[derive(Debug, Clone)]
pub enum Reply {
    Opened(Opened),
    Stateid(Stateid),
    Done,
    Failed(StateError),
    /// Refused before it took its place in a sequence.
    Refused(StateError),
}

pub struct Actor {
    pub kind: Kind,
    pub name: String,
    pub beliefs: Beliefs,
    /// When the client sent the last request that was answered.
    pub contact: Duration,
    pub reachable_at: Duration,
    /// Whether the server died while it could not put the client on record: nothing of what it held is protected.
    pub is_unprotected: bool,
    verifier: u64,
    id: ClientId,
    session: SessionId,
    sequence: u32,
    open_seqid: u32,
    lock_seqid: u32,
    pending: Option<Op>,
    /// The boot that the beliefs are known to.
    pub boot: u32,
    /// Which numbered requests were executed, and what was answered.
    executed: HashMap<(u32, u64, u32), u64>,
    replies: Vec<Reply>,
    /// Recalls by stateid and time; one may come before the reply that brings the delegation.
    pub recalls: HashMap<Stateid, Duration>,
}

impl Actor {
    pub fn new(kind: Kind, name: String) -> Actor {
        Actor {
            kind,
            name,
            beliefs: Default::default(),
            contact: Duration::ZERO,
            reachable_at: Duration::ZERO,
            is_unprotected: false,
            verifier: 1,
            id: ClientId(0),
            session: SessionId([0; 16]),
            sequence: 0,
            open_seqid: 0,
            lock_seqid: 0,
            pending: None,
            boot: 0,
            executed: HashMap::new(),
            replies: Vec::new(),
            recalls: HashMap::new(),
        }
    }

    pub fn client(&self) -> ClientId {
        self.id
    }

    /// Whether the client may rely on what it assumes: its lease has not run out by its own clock.
    pub fn is_sure(&self, now: Duration) -> bool {
        self.kind == Kind::Nlm || now <= self.contact + LEASE
    }

    /// What the client may rely on.
    pub fn sure_beliefs(&self, now: Duration) -> Beliefs {
        if !self.is_sure(now) || self.is_unprotected {
            return Default::default();
        }
        let mut sure = self.beliefs;
        for belief in &mut sure {
            belief.deleg = belief.deleg.filter(|deleg| deleg.recalled.is_none_or(|at| now < at + RECALL));
        }
        sure
    }

    /// The server dies. A client that holds something is on record, unless the store failed.
    pub fn server_dies(&mut self, world: &World) {
        let is_recorded = world.records.0.lock().unwrap().iter().any(|record| *record.name == *self.name.as_bytes());
        let holds = self.beliefs.iter().any(|belief| *belief != Belief::default());
        let is_due = holds && self.boot == world.boot && self.is_sure(world.now);
        assert!(is_recorded || !is_due || world.records.is_behind(), "{} is not on record", self.name);
        self.is_unprotected |= !is_recorded;
    }

    /// The client loses its memory.
    pub fn crash(&mut self, world: &World) {
        world.records.set_failing(false);
        self.beliefs = Default::default();
        self.is_unprotected = false;
        self.pending = None;
        self.verifier += 1;
        self.boot = 0;
        if self.kind == Kind::Nlm {
            // The status monitor tells the server.
            let name = self.name.as_bytes();
            world.state.nlm_free_hosts(world.now, |host| host == name);
        }
    }

    fn scope(&self) -> StateidScope {
        if self.kind == Kind::V41 { StateidScope::V41(self.id) } else { StateidScope::V40 }
    }

    /// Does something: repeats a request that was not answered, or sends a new one.
    pub fn act(&mut self, world: &World, rng: &mut Random) {
        if self.boot != world.boot {
            self.recover(world, rng);
            return;
        }
        if !self.is_sure(world.now) {
            self.come_back(world, rng);
            return;
        }
        let op = match self.pending.take() {
            Some(op) => op,
            None => self.choose(rng),
        };
        self.send(world, rng, op);
    }

    fn choose(&mut self, rng: &mut Random) -> Op {
        let file = rng.below(FILES as u64) as usize;
        let belief = self.beliefs[file];
        if let Some(deleg) = belief.deleg.filter(|deleg| rng.percent(if deleg.recalled.is_some() { 70 } else { 5 })) {
            return Op::Return { file, deleg: deleg.stateid };
        }
        let first = rng.below(BYTES as u64) as usize;
        let length = 1 + rng.below((BYTES - first) as u64) as usize;
        match (rng.below(10), belief.open, belief.lock) {
            (0..=3, Some(open), lock) => {
                let exclusive = open.access.writes() && (rng.percent(50) || !open.access.reads());
                let open = open.stateid;
                Op::Lock { file, open, lock, first, length, exclusive, wait: rng.percent(40) }
            }
            (4..=5, Some(_), Some(lock)) => Op::Unlock { file, lock, first, length },
            (6, Some(open), _) => Op::Close { file, open: open.stateid },
            (7, ..) => Op::Renew,
            _ => {
                let access = ShareAccess::from_bits(1 + rng.below(3) as u32).unwrap();
                let deny = ShareDeny::from_bits([0, 0, 0, 0, 0, 0, 0, 1, 2, 3][rng.below(10) as usize]).unwrap();
                Op::Open { file, access, deny }
            }
        }
    }

    /// What the client gives up, it gives up when it says so, not when it is answered.
    fn give_up(&mut self, op: &Op) {
        match *op {
            Op::Close { file, .. } => self.beliefs[file].close(),
            Op::Unlock { file, first, length, .. } => {
                self.beliefs[file].bytes[first..first + length].fill(Locked::No);
            }
            Op::Lock { file, first, length, exclusive: false, .. } => {
                let bytes = &mut self.beliefs[file].bytes[first..first + length];
                bytes.iter_mut().for_each(|byte| *byte = (*byte).min(Locked::Shared));
            }
            Op::Return { file, .. } => self.beliefs[file].deleg = None,
            _ => {}
        }
    }

    fn send(&mut self, world: &World, rng: &mut Random, op: Op) {
        self.give_up(&op);
        if rng.percent(8) {
            self.pending = Some(op);
            return;
        }
        let (reply, flags) = match self.kind {
            Kind::V41 => match self.send41(world, &op) {
                Some(answer) => answer,
                None => return self.recover(world, rng),
            },
            _ => match self.send40(world, &op) {
                Some(reply) => (reply, StatusFlags(0)),
                None => return self.recover(world, rng),
            },
        };
        world.trace(format_args!("{} sent {op:?}: {reply:?}, flags {:x}", self.name, flags.0));
        if rng.percent(12) {
            self.pending = Some(op);
            return;
        }
        self.answered(world, &op, reply);
        if flags.0 & !StatusFlags::RESTART_RECLAIM_NEEDED != 0 {
            self.verify(world);
        }
    }

    /// Executes or repeats a request in the session; nothing when the session is gone.
    fn send41(&mut self, world: &World, op: &Op) -> Option<(Reply, StatusFlags)> {
        let args = world::sequence_args(self.session, SESSION_SLOT, self.sequence + 1);
        let session = u64::from_be_bytes(self.session.0[8..].try_into().unwrap());
        let number = (self.boot, session, self.sequence + 1);
        match world.state.sequence(world.now, &args) {
            Ok(Sequenced::Execute(turn, answer)) => {
                let reply = self.execute(world, op);
                turn.finish(&self.remember(world.now, number, reply.clone()).to_be_bytes());
                Some((reply, answer.flags))
            }
            Ok(Sequenced::Replay(bytes)) => Some((self.recall_reply(number, &bytes), StatusFlags(0))),
            Err(StateError::BadSession) => None,
            Err(error) => panic!("SEQUENCE: {error}"),
        }
    }

    /// Executes or repeats a request in an owner's sequence; nothing when the client id is gone.
    fn send40(&mut self, world: &World, op: &Op) -> Option<Reply> {
        let name = self.name.clone();
        let (owner, seqid, group) = match *op {
            Op::Renew | Op::Return { .. } => return self.execute40(world, op),
            Op::Open { .. } => {
                (SeqidOwner::OpenOwner { client: self.id, name: name.as_bytes() }, self.open_seqid + 1, 0)
            }
            Op::Close { open, .. } | Op::Lock { open, lock: None, .. } => {
                (SeqidOwner::Stateid(open), self.open_seqid + 1, 0)
            }
            Op::Lock { lock: Some(lock), .. } | Op::Unlock { lock, .. } => {
                (SeqidOwner::Stateid(lock), self.lock_seqid + 1, 1)
            }
        };
        let number = (self.boot, self.id.0 << 1 | group, seqid);
        match world.state.seqid_begin(world.now, owner, seqid) {
            Ok(SeqidTurn::Replay(bytes)) => Some(self.recall_reply(number, &bytes)),
            Ok(SeqidTurn::Execute(turn)) => {
                let reply = self.execute40(world, op)?;
                let advances = !matches!(&reply, Reply::Failed(error) if !advances_seqid(error));
                if !advances {
                    return Some(reply);
                }
                let bytes = self.remember(world.now, number, reply.clone()).to_be_bytes();
                world.state.seqid_finish(world.now, turn, true, &bytes);
                Some(reply)
            }
            Err(StateError::StaleClientid) => None,
            Err(StateError::Expired) if matches!(op, Op::Open { .. }) => None,
            Err(error @ (StateError::Expired | StateError::BadStateid)) => {
                // The owner or its state is forgotten, and the number is free for the next request.
                self.executed.remove(&number);
                Some(Reply::Refused(error))
            }
            Err(error) => panic!("seqid of {op:?}: {error}"),
        }
    }

    fn execute40(&mut self, world: &World, op: &Op) -> Option<Reply> {
        match self.execute(world, op) {
            Reply::Failed(StateError::StaleClientid) => None,
            Reply::Failed(StateError::Expired) if matches!(op, Op::Open { .. } | Op::Renew) => None,
            reply => Some(reply),
        }
    }

    fn remember(&mut self, now: Duration, number: (u32, u64, u32), reply: Reply) -> u64 {
        self.replies.push(reply);
        let index = self.replies.len() as u64 - 1;
        if self.executed.insert(number, index).is_some() {
            // An NFSv4.0 owner that has lost what it held is forgotten after a lease's silence (RFC 7530 §9.1.9); who
            // comes back then has lost its lease and starts over.
            assert!(self.kind == Kind::V40 && !self.is_sure(now), "{number:?} was executed twice");
        }
        index
    }

    fn recall_reply(&self, number: (u32, u64, u32), bytes: &[u8]) -> Reply {
        let index = u64::from_be_bytes(bytes.try_into().unwrap());
        assert_eq!(self.executed.get(&number), Some(&index), "the reply of another request");
        self.replies[index as usize].clone()
    }

    fn execute(&self, world: &World, op: &Op) -> Reply {
        let state = &world.state;
        let result = match *op {
            Op::Open { file, access, deny } => {
                let args = OpenArgs { want: DelegationWant::Any, ..self.open_args(file, (access, deny)) };
                return match state.open(world.now, &args) {
                    Ok(opened) => Reply::Opened(self.confirm(world, file, opened)),
                    Err(error) => Reply::Failed(error),
                };
            }
            Op::Close { file, open } => in_steps(|| state.close(world.now, self.scope(), &open, &key(file as u64))),
            Op::Lock { file, open, lock, first, length, exclusive, wait } => {
                let owner = self.name.as_bytes();
                let locker = lock.as_ref().map_or(Locker::New { open: &open, owner }, Locker::Existing);
                state.lock(world.now, &self.lock_args((file, locker), (first, length, exclusive), (wait, false)))
            }
            Op::Unlock { file, lock, first, length } => {
                let range = ByteRange::nfs4(first as u64, length as u64).unwrap();
                in_steps(|| state.unlock(world.now, self.scope().of(&lock), &key(file as u64), range))
            }
            Op::Return { file, deleg } => {
                let returned = state.delegreturn(world.now, self.scope(), &deleg, &key(file as u64));
                return returned.map_or_else(Reply::Failed, |()| Reply::Done);
            }
            Op::Renew if self.kind == Kind::V40 => {
                return state.renew(world.now, self.id).map_or_else(Reply::Failed, |()| Reply::Done);
            }
            Op::Renew => return Reply::Done,
        };
        result.map_or_else(Reply::Failed, Reply::Stateid)
    }

    /// OPEN_CONFIRM follows its OPEN at once; it is numbered 0 beyond the OPENs, since losing it is not the point.
    fn confirm(&self, world: &World, file: usize, mut opened: Opened) -> Opened {
        if opened.confirm {
            opened.stateid = world.state.open_confirm(world.now, &opened.stateid, &key(file as u64)).unwrap();
        }
        opened
    }

    fn open_args(&self, file: usize, (access, deny): (ShareAccess, ShareDeny)) -> OpenArgs<'_> {
        world::open_args(self.id, &self.name, file as u64, (access, deny))
    }

    fn lock_args<'a>(
        &self,
        (file, locker): (usize, Locker<'a>),
        (first, length, exclusive): (usize, usize, bool),
        (blocking, reclaim): (bool, bool),
    ) -> LockArgs<'a> {
        let range = ByteRange::nfs4(first as u64, length as u64).unwrap();
        LockArgs { scope: self.scope(), file: key(file as u64), locker, range, exclusive, blocking, reclaim }
    }

    /// Takes an answer in.
    fn answered(&mut self, world: &World, op: &Op, reply: Reply) {
        self.contact = world.now;
        let unnumbered = match &reply {
            Reply::Refused(_) => true,
            Reply::Failed(error) => !advances_seqid(error),
            _ => false,
        };
        match *op {
            _ if self.kind == Kind::V41 => self.sequence += 1,
            Op::Renew | Op::Return { .. } => {}
            _ if unnumbered && self.kind == Kind::V40 => {}
            Op::Lock { lock: Some(_), .. } | Op::Unlock { .. } => self.lock_seqid += 1,
            _ => self.open_seqid += 1,
        }
        match (*op, reply) {
            (Op::Open { file, access, deny }, Reply::Opened(opened)) => self.opened(file, (access, deny), opened),
            (Op::Lock { file, first, length, exclusive, .. }, Reply::Stateid(stateid)) => {
                let belief = &mut self.beliefs[file];
                belief.lock = Some(stateid);
                belief.bytes[first..first + length].fill(if exclusive { Locked::Exclusive } else { Locked::Shared });
            }
            (Op::Unlock { file, .. }, Reply::Stateid(stateid)) => self.beliefs[file].lock = Some(stateid),
            (_, Reply::Failed(error) | Reply::Refused(error)) => self.failed(world, op, &error),
            _ => {}
        }
    }

    fn opened(&mut self, file: usize, (access, deny): (ShareAccess, ShareDeny), opened: Opened) {
        let belief = &mut self.beliefs[file];
        if belief.open.is_some_and(|open| open.stateid.other != opened.stateid.other) {
            // Another stateid: what was open before is lost.
            belief.close();
        }
        let before = belief.open.map_or((0, 0), |open| (open.access.bits(), open.deny.bits()));
        belief.open = Some(Open {
            stateid: opened.stateid,
            access: ShareAccess::from_bits(before.0 | access.bits()).unwrap(),
            deny: ShareDeny::from_bits(before.1 | deny.bits()).unwrap(),
        });
        if let DelegationAnswer::Granted { stateid, kind } = opened.delegation {
            let recalled = self.recalls.get(&stateid).copied();
            belief.deleg = Some(Deleg { stateid, kind, recalled });
        }
    }

    fn failed(&mut self, world: &World, op: &Op, error: &StateError) {
        use StateError::*;
        match (op, error) {
            (_, Expired | DelegRevoked | BadStateid) => self.verify(world),
            (Op::Open { .. }, ShareDenied | Delay | Grace | Records(_)) => {}
            (Op::Lock { .. }, Denied(_) | Deadlock | Delay | Grace | OpenMode | Records(_)) => {}
            (op, error) => panic!("{op:?}: {error}"),
        }
    }

    /// Comes back after its lease ran out by its own clock: a request that was not answered is repeated, and then the
    /// client looks what is left, since the answer may be from before the state was taken.
    fn come_back(&mut self, world: &World, rng: &mut Random) {
        let op = self.pending.take().unwrap_or(Op::Renew);
        let renewed = self.kind == Kind::V41 || world.state.renew(world.now, self.id).is_ok();
        let reply = match self.kind {
            Kind::V41 => self.send41(world, &op).map(|(reply, _)| reply),
            _ if renewed => self.send40(world, &op),
            _ => None,
        };
        world.trace(format_args!("{} came back with {op:?}: {reply:?}", self.name));
        match reply {
            Some(reply) => {
                self.answered(world, &op, reply);
                self.verify(world);
            }
            None => self.recover(world, rng),
        }
    }

    /// Asks for every stateid whether it is still good, and forgets what is not.
    fn verify(&mut self, world: &World) {
        let scope = self.scope();
        for (file, belief) in self.beliefs.iter_mut().enumerate() {
            let check = |stateid: &Stateid| {
                let checked = match scope {
                    StateidScope::V41(_) => world.state.test_stateid(world.now, scope, stateid).map(|_| ()),
                    StateidScope::V40 => {
                        world.state.check_io(world.now, scope.of(stateid), &key(file as u64), IoKind::Read)
                    }
                };
                if checked.is_err() && scope != StateidScope::V40 {
                    let _ = world.state.free_stateid(world.now, scope, stateid);
                }
                checked.is_ok()
            };
            forget_lost(belief, check);
        }
    }

    /// Makes itself known to a server that does not know it, and reclaims what it held before a restart.
    fn recover(&mut self, world: &World, rng: &mut Random) {
        self.pending = None;
        if self.kind == Kind::Nlm {
            return self.reclaim_nlm(world);
        }
        let is_protected = !std::mem::take(&mut self.is_unprotected);
        let entitled = is_protected && self.is_sure(world.now) && self.is_recorded(world);
        let known = self.introduce(world);
        world.trace(format_args!("{} recovers as {:?}, entitled {entitled}, known {known}", self.name, self.id));
        if self.boot != world.boot && self.boot != 0 {
            // Some come a little late to the grace period, and the server may die in the middle of it.
            let kept = rng.below(10) != 0;
            self.boot = world.boot;
            self.contact = world.now;
            for file in 0..FILES {
                self.reclaim(world, file, entitled);
            }
            self.finish_reclaim(world, kept);
            return;
        }
        if !known {
            self.beliefs = Default::default();
        }
        self.boot = world.boot;
        self.contact = world.now;
        self.finish_reclaim(world, true);
        self.verify(world);
    }

    fn finish_reclaim(&self, world: &World, complete: bool) {
        if self.kind == Kind::V41 && complete {
            match world.state.reclaim_complete(world.now, self.id, false) {
                Ok(()) | Err(StateError::CompleteAlready) => {}
                Err(error) => panic!("RECLAIM_COMPLETE: {error}"),
            }
        }
    }

    /// Whether the store says that the client may reclaim.
    fn is_recorded(&self, world: &World) -> bool {
        world.records.0.lock().unwrap().iter().any(|record| *record.name == *self.name.as_bytes() && !record.revoked)
    }

    /// Gets a client id; true when the server still knew the client.
    fn introduce(&mut self, world: &World) -> bool {
        (self.sequence, self.open_seqid, self.lock_seqid) = (0, 0, 0);
        if self.kind == Kind::V40 {
            let args = set_client_id_args(&self.name, self.verifier, "alice");
            let (id, confirm) = world.state.setclientid(world.now, &args).unwrap();
            let known = id == self.id;
            world.state.setclientid_confirm(world.now, id, confirm, &Principal::new(b"alice")).unwrap();
            world.state.callback_path_40(id, true);
            self.id = id;
            assert!(!known || self.boot == 0, "a client that was refused was still known");
            return known;
        }
        let exchanged = world.exchange_as(&exchange_args(&self.name, self.verifier, "alice", false));
        self.id = exchanged.client;
        let args = session_args(self.id, exchanged.sequence);
        self.session = world.state.create_session(world.now, &args).unwrap().session;
        exchanged.confirmed
    }

    fn reclaim(&mut self, world: &World, file: usize, entitled: bool) {
        let held = self.beliefs[file];
        // A delegation whose recall was in progress may have been revoked unseen.
        let deleg = held.deleg.filter(|deleg| deleg.recalled.is_none());
        self.beliefs[file] = Belief::default();
        let (how, kept_open) = match (held.open, deleg) {
            (Some(open), _) => ((open.access, open.deny), true),
            (None, Some(deleg)) if deleg.kind == DelegationKind::Write => ((ShareAccess::BOTH, ShareDeny::NONE), false),
            (None, Some(_)) => ((ShareAccess::READ, ShareDeny::NONE), false),
            (None, None) => return,
        };
        let mut args = self.open_args(file, how);
        args.claim = Claim::Previous(deleg.map(|deleg| deleg.kind));
        let opened = match world.state.open(world.now, &args) {
            Ok(opened) => opened,
            Err(error) => return assert!(!entitled, "{} could not reclaim {held:?}: {error}", self.name),
        };
        self.opened(file, how, opened);
        let redelegated = self.beliefs[file].deleg.is_some();
        assert!(!entitled || deleg.is_none() || redelegated, "{} lost {held:?}", self.name);
        if !kept_open {
            in_steps(|| world.state.close(world.now, self.scope(), &opened.stateid, &key(file as u64))).unwrap();
            self.beliefs[file].open = None;
        }
        for (first, length, exclusive) in held.runs() {
            self.reclaim_lock(world, file, (first, length, exclusive), entitled);
        }
    }

    fn reclaim_lock(&mut self, world: &World, file: usize, run: (usize, usize, bool), entitled: bool) {
        let belief = self.beliefs[file];
        let Some(open) = belief.open else { return };
        let locker = match &belief.lock {
            Some(lock) => Locker::Existing(lock),
            None => Locker::New { open: &open.stateid, owner: self.name.as_bytes() },
        };
        match world.state.lock(world.now, &self.lock_args((file, locker), run, (false, true))) {
            Ok(stateid) => {
                let belief = &mut self.beliefs[file];
                belief.lock = Some(stateid);
                let locked = if run.2 { Locked::Exclusive } else { Locked::Shared };
                belief.bytes[run.0..run.0 + run.1].fill(locked);
            }
            Err(error) => assert!(!entitled, "{} could not reclaim the lock {run:?}: {error}", self.name),
        }
    }
}

/// Drops what `check` says is gone, and what hangs on it.
fn forget_lost(belief: &mut Belief, check: impl Fn(&Stateid) -> bool) {
    if belief.lock.is_some_and(|lock| !check(&lock)) {
        belief.unlock_all();
    }
    if belief.open.is_some_and(|open| !check(&open.stateid)) {
        belief.close();
    }
    belief.deleg = belief.deleg.filter(|deleg| check(&deleg.stateid));
}

/// Whether the number of an owner's request is used up although it failed so (RFC 7530 §9.1.7), as clients and servers
/// of NFSv4.0 see it.
fn advances_seqid(error: &StateError) -> bool {
    use StateError as E;
    !matches!(error, E::StaleClientid | E::StaleStateid | E::BadStateid | E::BadSeqid | E::Resource)
}
