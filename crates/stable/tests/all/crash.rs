//! What is left of a log after crashes, failed calls and damage: every record that was durable, or a loud error.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use stable::{Log, LogError, Position};

use crate::support::{BLOCK, Fault, Random, SECTOR, TestDevice};

/// How many logs are tried, each of which crashes several times.
const SEEDS: u64 = 1500;
const CRASHES: usize = 4;

type Stored = (Position, Vec<u8>);

/// A log of some blocks, with what is known of it.
struct Tried {
    random: Random,
    device: Arc<TestDevice>,
    log: Log,
    /// Records that may be needed, with those of which no wait has returned.
    appended: VecDeque<Stored>,
    /// All in front of this is durable.
    durable: Position,
    /// Everything in front of this is trimmed, and everything behind the second one is not.
    trimmed: (Position, Position),
    /// What the owner may be.
    owners: [Vec<u8>; 2],
}

impl Tried {
    fn new(seed: u64) -> Tried {
        let mut random = Random::new(seed);
        let bytes = vec![0; (10 + random.below(20)) * BLOCK];
        let device = TestDevice::new(bytes, Fault::None, seed);
        let log = Log::create(device.clone(), b"").unwrap();
        let trimmed = (Position::START, Position::START);
        let owners = [Vec::new(), Vec::new()];
        Tried { random, device, log, appended: VecDeque::new(), durable: Position::START, trimmed, owners }
    }

    /// Works with the log until it crashes.
    fn crash(&mut self) {
        let fault = Fault::Crash(self.random.below(30));
        self.reopen(fault);
        self.check(&self.log);
        while !self.device.has_crashed() {
            self.step();
        }
        self.reopen(Fault::None);
        let found = records(&self.log);
        let first = self.appended.iter().position(|record| found.first().is_some_and(|first| first == record));
        assert!(found.is_empty() || first.is_some(), "a record that was never appended there");
        // What was not durable may be lost, and is lost for good.
        let end = self.log.end();
        self.appended.retain(|(position, _)| *position <= end);
        self.check(&self.log);
        self.settle();
    }

    fn reopen(&mut self, fault: Fault) {
        self.device = TestDevice::new(self.device.bytes(), fault, self.random.next());
        self.log = Log::open(self.device.clone()).unwrap();
    }

    /// Compares what a log has with what it must have.
    fn check(&self, log: &Log) {
        let found = records(log);
        assert!(log.end() >= self.durable, "records that were durable are lost");
        assert!(log.tail() == self.trimmed.0 || log.tail() == self.trimmed.1);
        let tail = log.tail();
        let expected: Vec<Stored> = self.appended.iter().filter(|(position, _)| *position > tail).cloned().collect();
        assert!(found == expected, "{} records instead of {}", found.len(), expected.len());
        assert!(self.owners.contains(&log.owner()));
    }

    /// Takes what was found after a crash as the state.
    fn settle(&mut self) {
        self.durable = self.log.durable();
        self.trimmed = (self.log.tail(), self.log.tail());
        self.owners = [self.log.owner(), self.log.owner()];
        self.forget_trimmed();
    }

    fn forget_trimmed(&mut self) {
        while self.appended.front().is_some_and(|(position, _)| *position <= self.trimmed.0) {
            self.appended.pop_front();
        }
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..10 => self.append(),
            10..15 => self.wait(),
            15..19 => self.trim(),
            _ => self.set_owner(),
        }
    }

    fn append(&mut self) {
        let most = [60, 600, 3 * BLOCK, self.log.max_record_bytes() / 2][self.random.below(4)];
        let length = self.random.below(most);
        let record = self.random.bytes(length);
        let room_bytes = self.log.status().room_bytes - self.log.status().used_bytes;
        // A batch of its own needs at most this: without it the append could wait for a trim that never comes.
        if ((record.len() + 2 * BLOCK) as u64) < room_bytes
            && let Ok(position) = self.log.append(&[&record[..length / 3], &record[length / 3..]])
        {
            self.appended.push_back((position, record));
        }
    }

    fn wait(&mut self) {
        let positions = self.appended.iter().map(|(position, _)| *position);
        let Some(position) = positions.collect::<Vec<_>>().get(self.random.below(self.appended.len() + 1)).copied()
        else {
            return;
        };
        if self.log.wait(position).is_ok() {
            self.durable = self.durable.max(position);
        }
    }

    fn trim(&mut self) {
        let at = self.random.below(self.appended.len() + 1);
        let Some((position, _)) = self.appended.get(at) else { return };
        self.trimmed.1 = *position;
        if self.log.trim(*position).is_ok() {
            self.trimmed.0 = *position;
            self.durable = self.durable.max(*position);
            self.forget_trimmed();
        }
    }

    fn set_owner(&mut self) {
        let length = self.random.below(3000);
        let owner = self.random.bytes(length);
        self.owners[1].clone_from(&owner);
        if self.log.set_owner(&owner).is_ok() {
            self.owners[0] = owner;
        }
    }
}

fn records(log: &Log) -> Vec<Stored> {
    log.records().map(|record| record.unwrap()).collect()
}

#[test]
fn crash_at_any_write_loses_no_durable_record_and_makes_up_none() {
    for seed in 0..SEEDS {
        let tried = std::panic::catch_unwind(|| {
            let mut tried = Tried::new(seed);
            (0..CRASHES).for_each(|_| tried.crash());
        });
        assert!(tried.is_ok(), "seed {seed}");
    }
}

#[test]
fn crash_while_the_log_is_made_leaves_no_log_or_an_empty_one() {
    for (writes, seed) in (0..2).flat_map(|writes| (0..200).map(move |seed| (writes, seed))) {
        let device = TestDevice::new(vec![0; 16 * BLOCK], Fault::Crash(writes), seed);
        assert!(matches!(Log::create(device.clone(), b"owner"), Err(LogError::Device { .. })));
        let device = TestDevice::new(device.bytes(), Fault::None, seed);
        match Log::open(device) {
            Ok(log) => assert_eq!((log.records().count(), log.owner()), (0, b"owner".to_vec())),
            Err(error) => assert!(matches!(error, LogError::Blank { .. } | LogError::NotALog { .. }), "{error}"),
        }
    }
}

#[test]
fn crash_among_threads_loses_nothing_that_a_thread_was_told_is_durable() {
    const THREADS: u8 = 6;
    for seed in 0..100 {
        let device = TestDevice::new(vec![0; 24 * BLOCK], Fault::None, seed);
        drop(Log::create(device.clone(), b"").unwrap());
        let device = TestDevice::new(device.bytes(), Fault::Crash(5 + seed as usize), seed);
        let log = Log::open(device.clone()).unwrap();
        let (durable, trimmed) = thread::scope(|scope| {
            let trimming = scope.spawn(|| trim_until_it_fails(&log));
            let threads = [(); THREADS as usize].map(|()| scope.spawn(|| append_until_it_fails(&log)));
            let durable: Vec<Stored> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            (durable, trimming.join().unwrap())
        });
        let log = Log::open(TestDevice::new(device.bytes(), Fault::None, seed)).unwrap();
        let found = records(&log);
        assert!(found.is_sorted_by(|(first, _), (second, _)| first < second));
        assert!(log.tail() >= trimmed, "seed {seed}");
        let mut needed = durable.iter().filter(|(position, _)| *position > log.tail());
        assert!(needed.all(|record| found.contains(record)), "seed {seed}");
    }
}

/// Appends records, and returns those that were durable.
fn append_until_it_fails(log: &Log) -> Vec<Stored> {
    let mut durable = Vec::new();
    for number in 0_usize.. {
        let record = vec![number as u8; 8 + number * 577 % (2 * BLOCK)];
        let Ok(position) = log.append(&[&record]) else { break };
        if log.wait(position).is_err() {
            break;
        }
        durable.push((position, record));
    }
    durable
}

/// Frees room whenever half of it is taken, and returns up to where the last time.
fn trim_until_it_fails(log: &Log) -> Position {
    let mut trimmed = Position::START;
    loop {
        let status = log.status();
        let durable = log.durable();
        if status.used_bytes * 2 > status.room_bytes && durable > trimmed {
            if log.trim(durable).is_err() {
                return trimmed;
            }
            trimmed = durable;
        }
        if status.failed {
            return trimmed;
        }
        thread::yield_now();
    }
}

#[test]
fn failed_write_ends_the_log_for_all_who_wait_and_loses_nothing_durable() {
    for writes in 0..12 {
        let device = TestDevice::new(vec![0; 64 * BLOCK], Fault::None, writes);
        drop(Log::create(device.clone(), b"").unwrap());
        let device = TestDevice::new(device.bytes(), Fault::Write(writes as usize), writes);
        let log = Log::open(device.clone()).unwrap();
        let (durable, failed) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let stored =
                            log.append(&[&[1; 3000]]).and_then(|position| log.wait(position).map(|()| position));
                        match stored {
                            Ok(position) => drop(durable.fetch_max(position.bytes(), Ordering::SeqCst)),
                            Err(error) => {
                                let text = "log test.log: cannot write: the disk is broken";
                                assert_eq!(error.to_string(), text);
                                failed.store(true, Ordering::SeqCst);
                            }
                        }
                    }
                });
            }
        });
        assert!(failed.into_inner() && log.status().failed);
        assert!(log.append(&[b"late"]).is_err() && log.trim(log.durable()).is_err() && log.set_owner(b"").is_err());
        let durable = Position::new(durable.into_inner());
        assert!(log.wait(durable).is_ok(), "what was durable stays so");
        assert_eq!(log.records().filter(Result::is_err).count(), 0);
        let log = Log::open(TestDevice::new(device.bytes(), Fault::None, 0)).unwrap();
        assert!(log.durable() >= durable);
        log.wait(log.append(&[b"after the repair"]).unwrap()).unwrap();
    }
}

#[test]
fn failed_write_of_a_header_ends_the_log_too() {
    let device = TestDevice::new(vec![0; 64 * BLOCK], Fault::Write(3), 1);
    let log = Log::create(device.clone(), b"").unwrap();
    let position = log.append(&[b"record"]).unwrap();
    log.wait(position).unwrap();
    let error = log.trim(position).unwrap_err();
    assert_eq!(error.to_string(), "log test.log: cannot write the header: the disk is broken");
    assert!(log.append(&[b"late"]).is_err());
    assert!(Log::open(TestDevice::new(device.bytes(), Fault::None, 0)).unwrap().end() >= position);
}

#[test]
fn append_that_waits_for_room_ends_when_the_log_fails() {
    let device = TestDevice::new(vec![0; 10 * BLOCK], Fault::Write(3), 1);
    let log = Log::create(device, b"").unwrap();
    let position = log.append(&[&[1; 7 * BLOCK]]).unwrap();
    log.wait(position).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| log.append(&[&[2; BLOCK]]));
        while log.status().stalls == 0 {
            thread::yield_now();
        }
        assert!(log.trim(position).is_err());
        assert!(waiting.join().unwrap().is_err());
    });
}

#[test]
fn failed_read_is_an_error_and_no_end_of_the_log() {
    let device = filled(5, 3);
    let whole = records(&Log::open(TestDevice::new(device.clone(), Fault::None, 0)).unwrap()).len();
    let mut failures = 0;
    for reads in 0..100 {
        let tried = TestDevice::new(device.clone(), Fault::Read(reads), 0);
        let Ok(log) = Log::open(tried) else {
            failures += 1;
            continue;
        };
        let read: Vec<_> = log.records().collect();
        match read.last() {
            Some(Err(error)) => {
                failures += 1;
                assert!(matches!(error, LogError::Device { action: "read", .. }), "{error}");
            }
            _ => assert_eq!(read.len(), whole),
        }
    }
    assert!(failures > 10);
}

/// The bytes of a log whose ring went round: `count` batches of `records` records each are kept.
fn filled(count: usize, records: usize) -> Vec<u8> {
    let device = TestDevice::new(vec![0; 40 * BLOCK], Fault::None, 0);
    let log = Log::create(device.clone(), b"").unwrap();
    let mut positions = VecDeque::new();
    for batch in 0..100 {
        for record in 0..records {
            log.append(&[&vec![batch as u8; 100 + record * 1500]]).unwrap();
        }
        log.wait(log.end()).unwrap();
        positions.push_back(log.end());
        if positions.len() > count {
            log.trim(positions.pop_front().unwrap()).unwrap();
        }
    }
    device.bytes()
}

#[test]
fn damage_in_front_of_a_whole_batch_is_a_loud_error() {
    let whole = filled(5, 3);
    let expected = records(&Log::open(TestDevice::new(whole.clone(), Fault::None, 0)).unwrap());
    let (mut loud, mut last) = (0, 0);
    for sector in 2 * BLOCK / SECTOR..whole.len() / SECTOR {
        let mut bytes = whole.clone();
        bytes[sector * SECTOR..][..SECTOR].fill(0x5a);
        match Log::open(TestDevice::new(bytes, Fault::None, 0)) {
            Err(LogError::Damaged { from_bytes, to_bytes, .. }) => {
                let at = (sector * SECTOR) as u64;
                let is_inside = if from_bytes < to_bytes {
                    (from_bytes..to_bytes).contains(&at)
                } else {
                    at >= from_bytes || at < to_bytes
                };
                assert!(is_inside, "{at} is not in {from_bytes}..{to_bytes}");
                loud += 1;
            }
            Err(error) => panic!("{error}"),
            Ok(log) => {
                let found = records(&log);
                // The last batch cannot be told from a write that was interrupted; everything in front of it is there.
                let is_last = found.len() == expected.len() - 3;
                assert!(found == expected || is_last && expected.starts_with(&found), "sector {sector}");
                last += usize::from(is_last);
            }
        }
    }
    assert_eq!((loud, last), (40, 10), "five batches of ten sectors");
}

#[test]
fn batch_that_the_tail_is_in_is_missed_even_when_it_is_the_last() {
    let device = TestDevice::new(vec![0; 40 * BLOCK], Fault::None, 0);
    let log = Log::create(device.clone(), b"").unwrap();
    let first = log.append(&[b"first"]).unwrap();
    log.append(&[b"second"]).unwrap();
    log.trim(first).unwrap();
    let mut bytes = device.bytes();
    bytes[2 * BLOCK + 60] ^= 1;
    assert!(matches!(Log::open(TestDevice::new(bytes, Fault::None, 0)), Err(LogError::Damaged { .. })));
}

#[test]
fn damaged_header_leaves_the_other_one_or_is_a_loud_error() {
    let whole = filled(5, 3);
    let expected = records(&Log::open(TestDevice::new(whole.clone(), Fault::None, 0)).unwrap());
    for block in [0, 1] {
        let mut bytes = whole.clone();
        bytes[block * BLOCK + 40] ^= 1;
        let log = Log::open(TestDevice::new(bytes, Fault::None, 0)).unwrap();
        assert!(records(&log).ends_with(&expected), "the older header may keep more");
        assert!(records(&log).len() <= expected.len() + 3);
    }
    let mut bytes = whole;
    bytes[40] ^= 1;
    bytes[BLOCK + 40] ^= 1;
    assert!(matches!(Log::open(TestDevice::new(bytes, Fault::None, 0)), Err(LogError::NotALog { .. })));
}

#[test]
fn header_that_is_older_than_what_the_ring_holds_is_a_loud_error() {
    let device = TestDevice::new(vec![0; 16 * BLOCK], Fault::None, 0);
    let log = Log::create(device.clone(), b"").unwrap();
    let old = device.bytes();
    for _ in 0..20 {
        log.trim(log.append(&[&[1; 2 * BLOCK]]).unwrap()).unwrap();
    }
    let mut bytes = device.bytes();
    bytes[..2 * BLOCK].copy_from_slice(&old[..2 * BLOCK]);
    assert!(matches!(Log::open(TestDevice::new(bytes, Fault::None, 0)), Err(LogError::Damaged { .. })));
}

#[test]
fn end_that_is_missing_is_named() {
    let mut bytes = filled(5, 3);
    bytes.truncate(20 * BLOCK);
    let refusal = Log::open(TestDevice::new(bytes, Fault::None, 0)).unwrap_err();
    assert_eq!(refusal.to_string(), "log test.log: it has 81920 of its 163840 bytes: its end is missing; restore it");
}

#[test]
fn batches_of_another_log_are_not_taken_for_own_ones() {
    let other = filled(5, 3);
    let device = TestDevice::new(vec![0; 40 * BLOCK], Fault::None, 0);
    drop(Log::create(device.clone(), b"").unwrap());
    let mut bytes = device.bytes();
    bytes[2 * BLOCK..].copy_from_slice(&other[2 * BLOCK..]);
    assert_eq!(Log::open(TestDevice::new(bytes, Fault::None, 0)).unwrap().records().count(), 0);
}
