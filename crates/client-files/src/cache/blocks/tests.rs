//! The state of all blocks, driven by hand: the server is a vector of bytes, without sockets, tasks and clock.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use client_calls::{FileChange, FileVersion};
use proto::nfs3;
use tokio::time::Instant;
use vfs::{Attributes, FileKind, Stability};

use super::batch::Batch;
use super::config::Config;
use super::flush::Action;
use super::ids::{FileId, ReaderId};
use super::read::{Job, Progress, Then};
use super::table::BlockTable;
use super::write::Author;
use crate::{Caching, Error, Handle, HitsMisses, Reason, Sizes, Status, WriteVerifier, Written};

mod others;
mod reader_window;

const BLOCK: u64 = 4096;
/// How long a check of the file's attributes is valid.
const BELIEVED: std::time::Duration = std::time::Duration::from_secs(60);

/// A client of one file, and its server.
struct World {
    state: BlockTable,
    file: FileId,
    reader: ReaderId,
    now: Instant,
    /// What the server has, on its stable storage and in memory.
    stable: Vec<u8>,
    server: Vec<u8>,
    verifier: WriteVerifier,
    /// How often the server's file was changed, and whether replies to WRITEs tell of it.
    change: u64,
    is_telling: bool,
    /// What is in flight.
    jobs: Vec<Job>,
    batches: Vec<Batch>,
    has_commit: bool,
    reads: usize,
    writes: usize,
    commits: usize,
    counts: HitsMisses,
    read_first: u64,
}

impl World {
    fn new(server: Vec<u8>, caching: Caching, (read, write): (u32, u32)) -> World {
        let config =
            Config::new(&Caching { block_bytes: BLOCK as u32, ..caching }, Sizes { read, write, readdir: 4096 });
        let mut state = BlockTable::new(config);
        let attributes = Attributes { size_bytes: server.len() as u64, ..Attributes::new(FileKind::Regular, 1) };
        let (file, reader) = state.open(&Handle::new(b"file").unwrap(), &attributes);
        World {
            state,
            file,
            reader,
            now: Instant::now(),
            stable: server.clone(),
            server,
            verifier: WriteVerifier::default(),
            change: 0,
            is_telling: false,
            jobs: Vec::new(),
            batches: Vec::new(),
            has_commit: false,
            reads: 0,
            writes: 0,
            commits: 0,
            counts: HitsMisses::default(),
            read_first: 0,
        }
    }

    fn read(&mut self, offset: u64, count: usize) -> Vec<u8> {
        let (mut buffer, mut done, now) = (vec![0; count], 0, self.now);
        if self.state.file_ref(self.file).reader_window.read(self.reader, offset, &mut buffer) {
            self.counts.hits += 1;
            return buffer;
        }
        if let Some(found) = self.state.glance(self.reader, || now, offset, count) {
            self.counts.hits += 1;
            return found.to_vec();
        }
        if self.state.file_ref(self.file).version.is_some() {
            self.state.file(self.file).checked_until = Some(now + BELIEVED);
        }
        let mut progress = span(offset, count);
        loop {
            let (part, step) = self.state.read(self.reader, &mut progress, offset + done as u64, count - done);
            buffer[done..done + part.len()].copy_from_slice(&part);
            done += part.len();
            self.start(step.jobs);
            match step.then {
                Then::Done => break,
                Then::More => {}
                Then::Filled(_) => self.answer_reads(),
                Then::Room | Then::Written => self.work(),
            }
        }
        self.count(progress);
        buffer.truncate(done);
        buffer
    }

    /// Takes as much as there is room for without the server.
    fn try_write(&mut self, offset: u64, data: &[u8]) -> (usize, bool) {
        let mut progress = span(offset, data.len());
        let author = Author { file: self.file, io: None, can_read: true, now: self.now };
        let (taken, step) = self.state.write(author, &mut progress, offset, data).unwrap();
        self.start(step.jobs);
        self.state.unpin_all(&mut progress);
        self.count(progress);
        (taken, matches!(step.then, Then::Filled(_)))
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        let mut done = 0;
        while done < data.len() {
            done += self.try_write(offset + done as u64, &data[done..]).0;
            self.answer_reads();
            if done < data.len() {
                self.work();
            }
        }
    }

    fn count(&mut self, Progress { hits, misses, read_first, .. }: Progress) {
        self.counts.hits += hits;
        self.counts.misses += misses;
        self.read_first += read_first;
    }

    fn start(&mut self, jobs: Vec<Job>) {
        self.reads += jobs.len();
        self.jobs.extend(jobs);
    }

    fn answer_reads(&mut self) {
        for job in std::mem::take(&mut self.jobs) {
            let from = (job.offset_bytes as usize).min(self.server.len());
            let to = (from + job.bytes).min(self.server.len());
            let brought = job.brought(&self.server[from..to]);
            self.state.end_job(&job, Ok(brought));
        }
        self.state.check();
    }

    /// Starts what the task that writes would start.
    fn begin_work(&mut self) {
        loop {
            match self.state.next_action(self.file, self.now) {
                Action::Write(batch) => self.batches.push(batch),
                Action::Commit => self.has_commit = true,
                Action::Wait(_) | Action::End => return,
            }
        }
    }

    fn answer_writes(&mut self) {
        let carried_out: Vec<_> =
            std::mem::take(&mut self.batches).into_iter().map(|batch| self.carry_out(batch)).collect();
        self.end_writes(carried_out);
    }

    fn end_writes(&mut self, carried_out: Vec<(Batch, Written, FileChange)>) {
        for (batch, written, told) in carried_out {
            let told = if self.is_telling { told } else { FileChange::default() };
            self.state.end_write(self.file, &batch, Ok((written, told)));
        }
        self.state.check();
    }

    /// Carries out a WRITE at the server.
    fn carry_out(&mut self, batch: Batch) -> (Batch, Written, FileChange) {
        self.writes += 1;
        let before = Some(FileVersion::of(&self.attributes()));
        let (from, to) = (batch.offset_bytes as usize, batch.offset_bytes as usize + batch.data.len());
        let stable = (batch.stability != Stability::Unstable).then_some(&mut self.stable);
        for bytes in [Some(&mut self.server), stable].into_iter().flatten() {
            bytes.resize(bytes.len().max(to), 0);
            bytes[from..to].copy_from_slice(&batch.data);
        }
        self.change += 1;
        let written = Written::new(batch.data.len() as u32, batch.stability, self.verifier);
        (batch, written, FileChange { before, after: Some(self.attributes()) })
    }

    /// The server's attributes of its file.
    fn attributes(&self) -> Attributes {
        attributes(self.server.len() as u64, self.change)
    }

    /// Somebody else writes.
    fn change_elsewhere(&mut self, offset: u64, data: &[u8]) {
        let (from, to) = (offset as usize, offset as usize + data.len());
        for bytes in [&mut self.server, &mut self.stable] {
            bytes.resize(bytes.len().max(to), 0);
            bytes[from..to].copy_from_slice(data);
        }
        self.change += 1;
    }

    fn answer_commit(&mut self) {
        if std::mem::take(&mut self.has_commit) {
            self.commits += 1;
            self.stable.clone_from(&self.server);
            self.state.end_commit(self.file, Ok(self.verifier));
        }
        self.state.check();
    }

    /// Carries out everything that is due now.
    fn work(&mut self) {
        loop {
            self.answer_reads();
            self.begin_work();
            if self.batches.is_empty() && !self.has_commit {
                return;
            }
            self.answer_writes();
            self.answer_commit();
        }
    }

    fn sync(&mut self) {
        let to = self.state.want_written(self.file, true);
        self.work();
        assert!(self.state.is_written(self.file, to, true));
    }

    /// The server loses its unstable data.
    fn restart(&mut self) {
        self.server.clone_from(&self.stable);
        self.verifier.0[0] += 1;
    }
}

/// A read or write of so many bytes that begins.
fn span(from: u64, count: usize) -> Progress {
    Progress { from_bytes: from, to_bytes: from + count as u64, ..Progress::default() }
}

/// A change by somebody else shows in these attributes.
fn attributes(size_bytes: u64, change: u64) -> Attributes {
    Attributes { size_bytes, change, ..Attributes::new(FileKind::Regular, 1) }
}

fn bytes(count: u64) -> Vec<u8> {
    (0..count).map(|byte| (byte % 251) as u8).collect()
}

fn quiet() -> Caching {
    Caching { read_ahead_bytes: 0, ..Caching::default() }
}

#[test]
fn sequential_reads_cost_one_read_and_one_miss_for_each_block_with_read_ahead_and_without() {
    for caching in [Caching::default(), quiet()] {
        let mut world = World::new(bytes(40 * BLOCK), caching, (BLOCK as u32, BLOCK as u32));
        for part in 0..40 * 16 {
            let offset = part * BLOCK / 16;
            assert_eq!(world.read(offset, 256), world.server[offset as usize..][..256]);
        }
        assert_eq!((world.reads, world.counts), (40, HitsMisses { hits: 40 * 15, misses: 40 }));
    }
}

#[test]
fn neighbours_that_are_missing_share_a_read() {
    let mut world = World::new(bytes(64 * BLOCK), quiet(), (8 * BLOCK as u32, 4096));
    world.read(20 * BLOCK + 5, 10);
    assert_eq!(world.read(16 * BLOCK, 16 * BLOCK as usize), world.server[16 * BLOCK as usize..][..16 * BLOCK as usize]);
    assert_eq!(world.reads, 1 + 3, "4 blocks before the one that is there, 8 and 3 behind it");
    assert_eq!(world.counts, HitsMisses { hits: 1, misses: 16 });
}

#[test]
fn vector_of_buffers_asks_for_all_that_is_missing_at_once() {
    let mut world = World::new(bytes(16 * BLOCK), quiet(), (BLOCK as u32, 4096));
    let mut progress = span(0, 16 * BLOCK as usize);
    let (_, step) = world.state.read(world.reader, &mut progress, 0, 10);
    assert_eq!(step.jobs.len(), 16);
    world.start(step.jobs);
    world.answer_reads();
    world.state.unpin_all(&mut progress);
    assert_eq!(world.read(0, 16 * BLOCK as usize), bytes(16 * BLOCK));
    assert_eq!(world.reads, 16);
}

#[test]
fn bytes_that_are_copied_from_stay_as_they_were_found() {
    let mut world = World::new(bytes(BLOCK), quiet(), (4096, 4096));
    world.read(0, 1);
    let (found, _) = world.state.read(world.reader, &mut span(0, 100), 0, 100);
    world.write(10, b"changed");
    assert_eq!(found, bytes(100));
    assert_eq!(world.read(10, 7), b"changed");
}

#[test]
fn what_is_read_while_a_file_is_changed_past_the_cache_is_not_kept() {
    let mut world = World::new(bytes(8 * BLOCK), Caching::default(), (4096, 4096));
    world.read(0, BLOCK as usize);
    world.state.begin_passing(world.file);
    assert_eq!(world.read(0, 2 * BLOCK as usize), bytes(2 * BLOCK));
    world.server = vec![7; 8 * BLOCK as usize];
    assert_eq!(world.read(0, BLOCK as usize), [7; BLOCK as usize]);
    world.server = vec![8; 8 * BLOCK as usize];
    world.state.end_passing(world.file);
    assert_eq!(world.read(0, 8 * BLOCK as usize), [8; 8 * BLOCK as usize]);
    world.state.check();
}

#[test]
fn nothing_is_sent_while_a_file_is_cut_by_its_name() {
    let mut world = World::new(Vec::new(), quiet(), (4096, 4096));
    world.write(0, b"before");
    world.state.holds += 1;
    world.state.want_written(world.file, true);
    world.begin_work();
    assert!(world.batches.is_empty());
    world.state.set_size(world.file, 0);
    world.state.holds -= 1;
    world.begin_work();
    assert!(world.batches.is_empty() && world.server.is_empty());
}

#[test]
fn truncation_ends_the_wait_for_changes_that_it_drops() {
    // One drops whole blocks, one a part of a block, one changes that only the server's memory has.
    for (size_bytes, is_sent) in [(0, false), (2, false), (0, true)] {
        let mut world = World::new(Vec::new(), quiet(), (4096, 4096));
        world.write(0, b"a");
        world.sync();
        world.write(5, b"before");
        if is_sent {
            world.state.want_written(world.file, false);
            world.begin_work();
            world.answer_writes();
        }
        let to = world.state.newest_change;
        let told = Arc::clone(&world.state.file_ref(world.file).late.progress).notified_owned();
        world.state.set_size(world.file, size_bytes);
        assert!(world.state.is_written(world.file, to, true));
        assert!(pin!(told).poll(&mut Context::from_waker(Waker::noop())).is_ready(), "{size_bytes}, {is_sent}");
        world.state.check();
    }
}

#[test]
fn random_reader_asks_for_nothing_ahead_and_a_sequential_one_for_less_and_less_often() {
    let mut world = World::new(bytes(256 * BLOCK), Caching::default(), (BLOCK as u32, 4096));
    for block in [9, 3, 200, 100, 7] {
        world.read(block * BLOCK, 100);
    }
    assert_eq!(world.reads, 5);
    world.read(20 * BLOCK, 100);
    world.read(20 * BLOCK + 100, 100);
    assert_eq!((world.reads, world.jobs.len()), (6 + 1, 1));
}

#[test]
fn parts_that_were_written_need_no_read_until_somebody_reads_beside_them() {
    let mut world = World::new(bytes(BLOCK), quiet(), (4096, 4096));
    world.write(100, b"one");
    world.write(200, b"two");
    assert_eq!((world.reads, world.counts), (0, HitsMisses { hits: 0, misses: 2 }));
    assert_eq!(world.read(200, 3), b"two");
    let mut expected = bytes(BLOCK);
    expected[100..103].copy_from_slice(b"one");
    expected[200..203].copy_from_slice(b"two");
    assert_eq!(world.read(0, BLOCK as usize), expected);
    assert_eq!(world.reads, 1);
}

#[test]
fn block_of_many_parts_is_read_before_one_more_is_written() {
    let mut world = World::new(bytes(BLOCK), quiet(), (4096, 4096));
    for part in 0..8 {
        world.write(part * 100, b"x");
    }
    assert_eq!((world.reads, world.counts), (0, HitsMisses { hits: 0, misses: 8 }));
    assert_eq!(world.try_write(900, b"x"), (0, true));
    assert_eq!((world.read_first, world.counts), (1, HitsMisses { hits: 0, misses: 8 }));
    world.write(900, b"x");
    assert_eq!((world.reads, world.read_first, world.counts), (1, 1, HitsMisses { hits: 0, misses: 9 }));
    world.sync();
    let mut expected = bytes(BLOCK);
    (0..10).filter(|part| *part != 8).for_each(|part| expected[part * 100] = b'x');
    assert_eq!(world.stable, expected, "and only what was written is sent");
}

#[test]
fn what_is_lost_after_somebody_else_changed_the_file_is_sent_again_as_it_was_written() {
    for change_past_the_cache in [true, false] {
        let mut world = World::new(bytes(BLOCK), quiet(), (4096, 4096));
        world.write(100, b"mine");
        world.state.want_written(world.file, false);
        world.begin_work();
        world.answer_writes();
        world.server[0..5].copy_from_slice(b"other");
        world.stable[0..5].copy_from_slice(b"other");
        if change_past_the_cache {
            world.state.forget(world.file);
        }
        world.state.file(world.file).is_explained = false;
        let changes = world.state.file_ref(world.file).changes;
        world.state.learn(world.file, &attributes(BLOCK, 2), changes);
        world.restart();
        assert_eq!(world.read(0, 5), b"other");
        assert_eq!(world.read(100, 4), b"mine", "what the server lost is back before it is read");
        world.sync();
        assert_eq!(&world.stable[100..104], b"mine");
    }
}

#[test]
fn file_is_as_long_as_what_the_server_lost_of_it() {
    let mut world = World::new(Vec::new(), quiet(), (4096, 4096));
    world.write(0, &bytes(3 * BLOCK));
    world.state.want_written(world.file, false);
    world.begin_work();
    world.answer_writes();
    world.restart();
    world.state.file(world.file).is_explained = false;
    let changes = world.state.file_ref(world.file).changes;
    world.state.learn(world.file, &attributes(0, 2), changes);
    assert_eq!(world.read(0, 4 * BLOCK as usize), bytes(3 * BLOCK));
    assert_eq!(world.stable, bytes(3 * BLOCK));
}

#[test]
fn nothing_is_read_behind_the_end() {
    let mut world = World::new(Vec::new(), quiet(), (4096, 4096));
    for part in 0..20 {
        world.write(3 * BLOCK + part * 100, b"x");
    }
    assert_eq!(world.read(0, 4096), [0; 4096]);
    assert_eq!(world.reads, 0);
    assert_eq!(world.read(3 * BLOCK + 1899, 100), b"\0x");
}

#[test]
fn neighbours_are_gathered_for_one_write_and_a_lone_one_needs_no_commit() {
    let mut world = World::new(Vec::new(), quiet(), (4096, 4 * BLOCK as u32));
    for part in 0..64 {
        world.write(part * 256, &[part as u8; 256]);
    }
    world.sync();
    assert_eq!((world.writes, world.commits), (1, 0));
    world.write(0, &bytes(10 * BLOCK));
    world.sync();
    assert_eq!((world.writes, world.commits), (1 + 3, 1));
    assert_eq!(world.stable, bytes(10 * BLOCK));
}

#[test]
fn whole_writes_go_out_while_more_is_gathered_and_the_rest_when_it_is_due() {
    let mut world = World::new(Vec::new(), quiet(), (4096, 2 * BLOCK as u32));
    world.write(0, &bytes(5 * BLOCK));
    world.begin_work();
    assert_eq!(world.batches.len(), 2, "the fifth block waits for a sixth");
    world.answer_writes();
    world.now += std::time::Duration::from_secs(3600);
    world.work();
    assert_eq!((world.writes, world.commits, world.stable.len()), (3, 1, 5 * BLOCK as usize));
}

#[test]
fn what_a_restart_lost_is_sent_again() {
    let mut world = World::new(Vec::new(), quiet(), (4096, BLOCK as u32));
    world.write(0, &bytes(3 * BLOCK));
    world.begin_work();
    world.answer_writes();
    world.restart();
    // The COMMIT tells of it.
    world.sync();
    assert_eq!(world.stable, bytes(3 * BLOCK));
    world.write(0, &[1; 2 * BLOCK as usize]);
    world.begin_work();
    world.answer_writes();
    world.restart();
    // The next WRITE tells of it.
    world.write(2 * BLOCK, &[2; BLOCK as usize]);
    world.begin_work();
    world.answer_writes();
    world.sync();
    assert_eq!(world.stable, [vec![1; 2 * BLOCK as usize], vec![2; BLOCK as usize]].concat());
}

#[test]
fn server_whose_verifier_never_stays_is_asked_for_stable_writes() {
    let mut world = World::new(Vec::new(), quiet(), (4096, BLOCK as u32));
    world.write(0, &bytes(4 * BLOCK));
    world.state.want_written(world.file, true);
    for _ in 0..100 {
        world.begin_work();
        world.answer_writes();
        world.restart();
        world.answer_commit();
    }
    assert_eq!(world.stable, bytes(4 * BLOCK));
}

#[test]
fn bytes_that_are_being_written_are_not_written_twice_at_once() {
    let mut world = World::new(Vec::new(), quiet(), (4096, BLOCK as u32));
    world.write(0, &[1; BLOCK as usize]);
    world.begin_work();
    world.write(0, &[2; BLOCK as usize]);
    world.state.want_written(world.file, true);
    world.begin_work();
    assert_eq!(world.batches.len(), 1);
    world.answer_writes();
    world.sync();
    assert!(world.stable == [2; BLOCK as usize]);
}

#[test]
fn refused_write_is_told_once_and_its_bytes_are_forgotten() {
    let mut world = World::new(bytes(BLOCK), quiet(), (4096, BLOCK as u32));
    world.write(0, b"refused");
    world.state.want_written(world.file, false);
    world.begin_work();
    let batch = world.batches.pop().unwrap();
    let no_space = Error::new(&"server".into(), "WRITE", Reason::Status(Status::from(nfs3::Status::NoSpc)));
    world.state.end_write(world.file, &batch, Err(no_space));
    let told = world.state.file(world.file).late.failures.take(None).unwrap();
    assert_eq!(told.status(), Some(Status::NoSpace));
    assert_eq!(world.read(0, 100), bytes(100));
    world.state.check();
}

#[test]
fn changes_take_no_more_than_their_part_of_memory_while_the_server_says_nothing() {
    let caching = Caching { max_bytes: 16 * BLOCK, max_dirty_bytes: 4 * BLOCK, ..quiet() };
    let mut world = World::new(bytes(100 * BLOCK), caching, (4096, 4096));
    let (taken, _) = world.try_write(0, &[1; 100 * BLOCK as usize]);
    assert_eq!(taken, 4 * BLOCK as usize);
    world.begin_work();
    assert_eq!(world.try_write(4 * BLOCK, b"more").0, 0);
    assert_eq!(world.try_write(0, b"where changes are already").0, 25);
    assert_eq!(world.read(50 * BLOCK, 20 * BLOCK as usize), world.server[50 * BLOCK as usize..][..20 * BLOCK as usize]);
    world.answer_writes();
    world.work();
    assert_eq!(world.try_write(4 * BLOCK, b"more").0, 4);
    world.state.check();
}

/// Writes a file of 100 blocks, a sixteenth of a block at a time, while replies to WRITEs are late.
fn write_in_order(max_dirty_blocks: u64, write_bytes: u32) -> World {
    let caching = Caching { max_dirty_bytes: max_dirty_blocks * BLOCK, ..quiet() };
    let mut world = World::new(bytes(100 * BLOCK), caching, (4096, write_bytes));
    let data = bytes(100 * BLOCK).into_iter().map(|byte| byte ^ 1).collect::<Vec<u8>>();
    for (number, part) in data.chunks(BLOCK as usize / 16).enumerate() {
        world.write(number as u64 * BLOCK / 16, part);
        world.begin_work();
        if number % 7 == 0 {
            world.answer_writes();
            world.answer_commit();
        }
    }
    world.sync();
    assert_eq!(world.stable, data);
    world
}

#[test]
fn small_writes_in_order_cost_one_write_and_one_miss_for_each_block_however_few_may_be_dirty() {
    // Half of the limit is reached at once, later, never.
    for max_dirty_blocks in [2, 3, 8, 1000] {
        let world = write_in_order(max_dirty_blocks, BLOCK as u32);
        assert_eq!((world.writes, world.counts), (100, HitsMisses { hits: 15 * 100, misses: 100 }));
    }
    let world = write_in_order(8, 4 * BLOCK as u32);
    assert_eq!((world.writes, world.counts.misses), (25, 100));
}

#[test]
fn only_block_that_may_be_dirty_is_written_when_another_one_is_wanted() {
    let world = write_in_order(1, BLOCK as u32);
    assert_eq!(world.counts.hits + world.counts.misses, 16 * 100);
    assert!(world.writes >= 100);
}

#[test]
fn of_a_file_that_memory_has_no_room_for_the_first_part_stays_when_it_is_read_in_order() {
    let caching = Caching { max_bytes: 64 * BLOCK, read_ahead_bytes: 2 * BLOCK, ..Caching::default() };
    let mut world = World::new(bytes(200 * BLOCK), caching, (4096, 4096));
    for block in 0..200 {
        assert_eq!(
            world.read(block * BLOCK, BLOCK as usize),
            world.server[(block * BLOCK) as usize..][..BLOCK as usize]
        );
        let kept = world.state.file_ref(world.file).blocks.len();
        assert!(kept <= 32 + 2 + 4 + 4, "{kept} blocks at the front, behind the reader, and before it");
    }
    assert_eq!(world.reads, 200);
    world.read(0, 32 * BLOCK as usize);
    assert_eq!(world.reads, 200);
    world.state.check();
}

#[test]
fn glance_finds_what_a_read_finds_and_nothing_where_more_is_to_be_done() {
    let mut world = World::new(bytes(4 * BLOCK), quiet(), (4096, 4096));
    let glance = |world: &mut World, at: u64, count: usize| {
        let (reader, now) = (world.reader, world.now);
        world.state.glance(reader, || now, at, count)
    };
    world.read(0, 10);
    world.state.file(world.file).checked_until = None;
    assert_eq!(glance(&mut world, 10, 10), None, "it is not known whether the file is as it was");
    world.state.file(world.file).checked_until = Some(world.now + BELIEVED);
    assert_eq!(glance(&mut world, 10, 10).unwrap(), bytes(20)[10..]);
    assert_eq!(glance(&mut world, BLOCK - 5, 10), None, "two blocks");
    assert_eq!(glance(&mut world, BLOCK, 10), None, "another block");
    world.read(4 * BLOCK - 10, 5);
    assert_eq!(glance(&mut world, 4 * BLOCK - 5, 10), None, "over the end");
    assert_eq!(glance(&mut world, 4 * BLOCK - 5, 5).unwrap(), world.server[4 * BLOCK as usize - 5..]);
    world.write(4 * BLOCK - 5, b"own");
    assert_eq!(glance(&mut world, 4 * BLOCK - 5, 3).unwrap(), b"own"[..]);
    world.state.forget(world.file);
    assert_eq!(glance(&mut world, 4 * BLOCK - 5, 5), None, "it was forgotten");
}

#[test]
fn oldest_blocks_go_first() {
    let caching = Caching { max_bytes: 8 * BLOCK, ..quiet() };
    let mut world = World::new(bytes(100 * BLOCK), caching, (4096, 4096));
    for block in (0..8).rev() {
        world.read(block * BLOCK, 1);
    }
    world.read(0, 1);
    world.read(50 * BLOCK, 1);
    let before = world.reads;
    world.read(0, 1);
    assert_eq!(world.reads, before);
    world.read(7 * BLOCK, 1);
    assert_eq!(world.reads, before + 1);
}

#[test]
fn block_that_was_used_again_is_spared_and_when_all_were_the_oldest_goes() {
    let caching = Caching { max_bytes: 8 * BLOCK, ..quiet() };
    let mut world = World::new(bytes(100 * BLOCK), caching, (4096, 4096));
    for block in (0..8).rev() {
        world.read(block * BLOCK, 1);
    }
    world.read(7 * BLOCK, 1);
    world.read(50 * BLOCK, 1);
    let before = world.reads;
    world.read(7 * BLOCK, 1);
    assert_eq!(world.reads, before, "it was the oldest, but used again");
    world.read(6 * BLOCK, 1);
    assert_eq!(world.reads, before + 1, "nobody had used it since");
    for block in [50, 7, 6, 4, 3, 2, 1, 0] {
        world.read(block * BLOCK, 1);
    }
    assert_eq!(world.reads, before + 1);
    world.read(60 * BLOCK, 1);
    assert_eq!(world.reads, before + 2);
    world.state.check();
}

#[test]
fn other_version_is_read_anew_and_own_changes_stay() {
    let mut world = World::new(bytes(3 * BLOCK), quiet(), (4096, 4096));
    world.read(0, 3 * BLOCK as usize);
    world.write(BLOCK + 10, b"own");
    world.server = vec![7; 2 * BLOCK as usize];
    let attributes = Attributes { size_bytes: 2 * BLOCK, change: 5, ..Attributes::new(FileKind::Regular, 1) };
    let changes = world.state.file_ref(world.file).changes;
    world.state.learn(world.file, &attributes, changes);
    let mut expected = vec![7; 2 * BLOCK as usize];
    expected[BLOCK as usize + 10..][..3].copy_from_slice(b"own");
    assert_eq!(world.read(0, 3 * BLOCK as usize), expected);
    world.state.check();
}

#[test]
fn old_bytes_that_arrive_late_are_not_taken() {
    let mut world = World::new(bytes(BLOCK), quiet(), (4096, 4096));
    let mut progress = span(0, 10);
    let (_, step) = world.state.read(world.reader, &mut progress, 0, 10);
    world.state.set_size(world.file, 0);
    world.state.set_size(world.file, BLOCK);
    world.jobs = step.jobs;
    world.answer_reads();
    world.server = vec![0; BLOCK as usize];
    world.state.unpin_all(&mut progress);
    assert_eq!(world.read(0, 10), [0; 10]);
}

#[test]
fn reader_who_goes_away_leaves_the_block_for_others() {
    let mut world = World::new(bytes(BLOCK), quiet(), (4096, 4096));
    let mut progress = span(0, 10);
    let (_, step) = world.state.read(world.reader, &mut progress, 0, 10);
    world.state.unpin_all(&mut progress);
    world.start(step.jobs);
    world.answer_reads();
    assert_eq!((world.read(0, 10), world.reads), (bytes(10), 1));
}

#[test]
fn file_of_which_nothing_is_kept_is_forgotten() {
    let mut world = World::new(Vec::new(), quiet(), (4096, 4096));
    world.write(0, b"x");
    world.sync();
    world.state.close(world.file, world.reader);
    let attributes = Attributes { size_bytes: 1, change: 9, ..Attributes::new(FileKind::Regular, 1) };
    let (file, reader) = world.state.open(&Handle::new(b"file").unwrap(), &attributes);
    assert_eq!(file, world.file, "a clean block is kept for who opens it again");
    world.state.set_size(file, 0);
    world.state.close(file, reader);
    let (other, _) = world.state.open(&Handle::new(b"other").unwrap(), &attributes);
    assert_eq!(other, file, "the place is free");
}
