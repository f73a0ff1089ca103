//! The host is told what changes and nothing else, and holds exactly what clients hold. Nobody who reads waits for it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use state::*;

use testing::Random;
use testing::naive_locks::{Lock, Locks, random_lock};
use testing::world::*;

/// What a host holds, as owner 0's; what a local process holds, as another's; and how often it was called.
#[derive(Default)]
struct Record {
    held: Locks,
    local: Option<Lock>,
    calls: usize,
    ranges: usize,
}

#[derive(Clone, Default)]
struct Host(Arc<Mutex<Record>>);

fn host_lock(wanted: HostRange) -> Lock {
    Lock { owner: 0, first: wanted.range.first(), last: wanted.range.last(), exclusive: wanted.exclusive }
}

impl HostLocks for Host {
    fn take(&mut self, file: &FileKey, wanted: HostRange, _: &dyn Fn() -> Vec<HostRange>) -> Result<(), HostRefusal> {
        self.test(file, wanted)?;
        let mut record = self.0.lock().unwrap();
        (record.calls, record.ranges) = (record.calls + 1, record.ranges + 1);
        record.held.set(host_lock(wanted));
        Ok(())
    }

    fn release(&mut self, _: &FileKey, ranges: &[ByteRange]) {
        let mut record = self.0.lock().unwrap();
        (record.calls, record.ranges) = (record.calls + 1, record.ranges + ranges.len());
        ranges.iter().for_each(|range| record.held.clear(0, range.first(), range.last()));
    }

    fn release_all(&mut self, _: &FileKey) {
        let mut record = self.0.lock().unwrap();
        record.calls += 1;
        record.held = Locks::default();
    }

    fn test(&mut self, _: &FileKey, wanted: HostRange) -> Result<(), HostRefusal> {
        let record = self.0.lock().unwrap();
        let local = record.local.filter(|local| local.conflicts(&host_lock(wanted)));
        local.map_or(Ok(()), |local| {
            let range = ByteRange::inclusive(local.first, local.last).unwrap();
            Err(HostRefusal { range, exclusive: local.exclusive })
        })
    }
}

const OWNERS: u64 = 4;

/// Two clients of NFSv4.1 with two lock owners each, at a host and beside a plain list of locks.
struct Pair {
    world: World,
    host: Host,
    naive: Locks,
    opens: Vec<(ClientId, Stateid)>,
    /// The lock stateid of each owner.
    states: Vec<Option<Stateid>>,
}

impl Pair {
    fn new() -> Pair {
        let host = Host::default();
        let world = World::on_host(Limits::default(), Box::new(host.clone()));
        let opens = ["a", "b"].map(|name| {
            let client = world.client(name).id;
            (client, world.open_rw(client, "o", 1))
        });
        Pair { world, host, naive: Locks::default(), opens: opens.to_vec(), states: vec![None; OWNERS as usize + 1] }
    }

    fn lock(&mut self, lock: Lock) {
        let (client, open) = self.opens[(lock.owner % 2) as usize];
        let range = ByteRange::inclusive(lock.first, lock.last).unwrap();
        let wanted = Wanted { file: 1, range, exclusive: lock.exclusive, blocking: false, reclaim: false };
        let local = self.host.0.lock().unwrap().local;
        let free = !self.naive.0.iter().chain(&local).any(|other| other.conflicts(&lock));
        let owner = lock.owner as usize;
        let locked = match self.states[owner] {
            Some(state) => self.world.lock_more(client, &state, wanted),
            None => self.world.lock_new(client, &open, &format!("owner {owner}"), wanted),
        };
        assert_eq!(locked.is_ok(), free, "{lock:?}: {locked:?}");
        if let Ok(state) = locked {
            self.states[owner] = Some(state);
            self.naive.set(lock);
        }
    }

    fn unlock(&mut self, lock: Lock) {
        let (client, _) = self.opens[(lock.owner % 2) as usize];
        let Some(state) = self.states[lock.owner as usize] else { return };
        let range = ByteRange::inclusive(lock.first, lock.last).unwrap();
        let scoped = StateidScope::V41(client).of(&state);
        let unlocked = in_steps(|| self.world.state.unlock(self.world.now, scoped, &key(1), range));
        self.states[lock.owner as usize] = Some(unlocked.unwrap());
        self.naive.clear(lock.owner, lock.first, lock.last);
    }

    /// CLOSE, which frees the locks of two owners together, and a new OPEN.
    fn close(&mut self, client: usize) {
        let (id, open) = self.opens[client];
        in_steps(|| self.world.state.close(self.world.now, StateidScope::V41(id), &open, &key(1))).unwrap();
        self.opens[client].1 = self.world.open_rw(id, "o", 1);
        for owner in (1..=OWNERS).filter(|owner| (*owner % 2) as usize == client) {
            self.states[owner as usize] = None;
            self.naive.clear(owner, 0, u64::MAX);
        }
    }

    /// A local process locks or unlocks, where the host lets it.
    fn local(&mut self, rng: &mut Random) {
        let lock = Lock { owner: 9, ..random_lock(rng, 1) };
        let mut record = self.host.0.lock().unwrap();
        let free = !record.held.0.iter().any(|held| held.conflicts(&lock));
        record.local = (free && rng.below(3) > 0).then_some(lock);
    }

    fn step(&mut self, rng: &mut Random) {
        match rng.below(20) {
            0 => self.close(rng.below(2) as usize),
            1..=2 => self.local(rng),
            3..=12 => self.lock(random_lock(rng, OWNERS)),
            _ => self.unlock(random_lock(rng, OWNERS)),
        }
        assert_eq!(self.host.0.lock().unwrap().held.0, self.naive.coverage());
        assert_eq!(self.world.state.census().locks, self.naive.0.len());
    }
}

#[test]
fn host_holds_what_any_client_holds_whatever_it_refuses() {
    for seed in 0..60 {
        println!("seed {seed}");
        let (mut pair, mut rng) = (Pair::new(), Random(seed));
        (0..300).for_each(|_| pair.step(&mut rng));
    }
}

#[test]
fn refusal_of_the_host_names_the_range_and_leaves_nothing() {
    let mut pair = Pair::new();
    pair.host.0.lock().unwrap().local = Some(Lock { owner: 9, first: 100, last: 199, exclusive: true });
    pair.lock(Lock { owner: 1, first: 0, last: 9, exclusive: false });
    let (b, open) = pair.opens[0];
    let Err(StateError::Denied(conflict)) = pair.world.lock_new(b, &open, "l", read_lock(1, 150, 1)) else { panic!() };
    assert_eq!((conflict.range, conflict.exclusive), (ByteRange::nfs4(100, 100).unwrap(), true));
    assert_eq!(pair.world.state.census().locks, 1, "what the host refuses is not held here either");
    let range = ByteRange::nfs4(190, 20).unwrap();
    let test = LockTest { client: b, owner: b"l", file: key(1), range, exclusive: true };
    assert!(is_denied(pair.world.state.lock_test(pair.world.now, &test)));
}

#[test]
fn host_is_told_of_one_range_for_a_lock_however_many_there_are() {
    let mut pair = Pair::new();
    let (client, open) = pair.opens[0];
    let mut state = pair.world.lock_new(client, &open, "owner", write_lock(1, 0, 1)).unwrap();
    for count in [10, 1000, 16_384] {
        for at in pair.world.state.census().locks as u64..count {
            let before = pair.host.0.lock().unwrap().ranges;
            state = pair.world.lock_more(client, &state, write_lock(1, 10 * at, 1)).unwrap();
            assert_eq!(pair.host.0.lock().unwrap().ranges - before, 1);
            // The list that the test's host keeps is slow, and of no interest here.
            pair.host.0.lock().unwrap().held = Locks::default();
        }
    }
    let again = pair.world.lock_more(client, &state, write_lock(1, 5, 1));
    assert_eq!(again, Err(StateError::Resource));
    let before = pair.host.0.lock().unwrap().calls;
    pair.close(0);
    let steps = 16_384 / Limits::default().steps;
    assert_eq!(pair.host.0.lock().unwrap().calls - before, steps, "each step gives up all of its locks at once");
    assert_eq!(pair.world.state.census().locks, 0);
}

/// A host that takes no lock before it is told to.
struct Slow {
    asked: Sender<()>,
    go: Receiver<()>,
}

impl HostLocks for Slow {
    fn take(&mut self, _: &FileKey, _: HostRange, _: &dyn Fn() -> Vec<HostRange>) -> Result<(), HostRefusal> {
        self.asked.send(()).unwrap();
        self.go.recv().unwrap();
        Ok(())
    }

    fn release(&mut self, _: &FileKey, _: &[ByteRange]) {}

    fn release_all(&mut self, _: &FileKey) {}

    fn test(&mut self, _: &FileKey, _: HostRange) -> Result<(), HostRefusal> {
        Ok(())
    }
}

#[test]
fn reads_writes_and_getattrs_do_not_wait_for_the_host() {
    let ((asked, is_asked), (let_go, go)) = (channel(), channel());
    let world = World::on_host(Limits::default(), Box::new(Slow { asked, go }));
    let client = world.client("a");
    let open = world.open_rw(client.id, "o", 1);
    std::thread::scope(|scope| {
        let locked = scope.spawn(|| world.lock_new(client.id, &open, "l", write_lock(1, 0, 1)));
        is_asked.recv().unwrap();
        // The call below would never come back if it needed what LOCK holds.
        let Sequenced::Execute(turn, _) = world.sequence(client, 0, 1).unwrap() else { panic!() };
        assert_eq!(world.io(client.id, &open, 1, IoKind::Read), Ok(()));
        assert_eq!(world.io(client.id, &open, 1, IoKind::Write), Ok(()));
        for kind in [AccessKind::Look, AccessKind::Read, AccessKind::Write] {
            let check = world.state.conflict_check(world.now, &key(1), kind, Requester::Other);
            assert_eq!(check, Ok(AccessCheck::Proceed));
        }
        assert!(world.state.poll_event().is_none());
        turn.finish(b"done");
        let_go.send(()).unwrap();
        assert!(locked.join().unwrap().is_ok());
    });
}

fn lock_of_host(world: &World, host: u8, file: u64) -> Result<(), StateError> {
    let name = [host];
    let lock = NlmLock { host: &name, origin: origin(host), ..lock_of(file) };
    world.state.nlm_lock(world.now, &lock, NlmMode::Now).map(drop)
}

fn lock_of(file: u64) -> NlmLock<'static> {
    let (range, exclusive) = (ByteRange::WHOLE, true);
    NlmLock { host: b"", origin: origin(0), owner: b"o", file: key(file), range, exclusive }
}

#[test]
fn client_that_locks_very_many_files_leaves_descriptors_for_others() {
    // Each locked file is open on the host.
    let host = Host::default();
    let world = World::on_host(Limits { locked_files: 80, ..Limits::default() }, Box::new(host.clone()));
    let most = (0..).take_while(|file| lock_of_host(&world, 11, *file).is_ok()).count() as u64;
    assert_eq!(most, 40, "half of all, while nobody else has any");
    assert_eq!(lock_of_host(&world, 11, 1000), Err(StateError::Resource));
    assert_eq!(lock_of_host(&world, 12, 2000), Ok(()), "others get theirs");
    // More locks of an open file need no descriptor, and an unlocked file gives its own back.
    let a = world.client("a");
    let open = world.open_rw(a.id, "o", 2001);
    let lock = world.lock_new(a.id, &open, "l", write_lock(2001, 0, 1)).unwrap();
    world.lock_more(a.id, &lock, write_lock(2001, 10, 1)).unwrap();
    let one = NlmLock { host: &[11], origin: origin(11), ..lock_of(0) };
    world.state.nlm_unlock(world.now, &one).unwrap();
    world.state.nlm_unlock(world.now, &NlmLock { file: key(1), ..one }).unwrap();
    world.state.nlm_unlock(world.now, &NlmLock { file: key(2), ..one }).unwrap();
    assert_eq!(lock_of_host(&world, 11, 1000), Ok(()));
}
