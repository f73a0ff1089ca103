//! What somebody else writes to a file that this client writes, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::promise::Promise;
use super::*;

/// A file of three blocks that are known, at a server whose replies to WRITEs tell of the file.
fn world() -> World {
    let mut world = World::new(bytes(3 * BLOCK), quiet(), (BLOCK as u32, BLOCK as u32));
    world.is_telling = true;
    world.read(0, 3 * BLOCK as usize);
    world
}

/// Has one write of each of the last two blocks sent, none of which is answered yet.
fn send_two(world: &mut World) {
    world.write(BLOCK, &[1; 2 * BLOCK as usize]);
    world.state.want_written(world.file, false);
    world.begin_work();
    assert_eq!(world.batches.len(), 2);
}

fn learn(world: &mut World) {
    let (changes, now) = (world.state.file_ref(world.file).changes, world.attributes());
    world.state.learn(world.file, &now, changes);
}

#[test]
fn what_was_there_before_an_own_write_is_seen_behind_it() {
    let mut world = world();
    world.change_elsewhere(0, b"theirs");
    world.write(2 * BLOCK, b"mine");
    world.sync();
    assert_eq!(world.read(0, 6), b"theirs");
    assert_eq!(world.read(2 * BLOCK, 4), b"mine");
}

/// A promise that is kept until somebody breaks it.
#[derive(Debug)]
struct Given(AtomicBool);

impl Promise for Given {
    fn holds(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn what_somebody_else_writes_after_a_promise_was_broken_is_seen_although_replies_tell_nothing() {
    for is_kept in [true, false] {
        let mut world = world();
        world.is_telling = false;
        let promise = Arc::new(Given(AtomicBool::new(true)));
        assert!(world.state.rely_on(world.file, promise.clone()));
        world.write(2 * BLOCK, b"mine");
        world.sync();
        let reads = world.reads;
        if !is_kept {
            promise.0.store(false, Ordering::Relaxed);
            world.change_elsewhere(0, b"theirs");
            let later = Arc::new(Given(AtomicBool::new(true)));
            assert!(!world.state.rely_on(world.file, later), "it says nothing of the time before");
        }
        learn(&mut world);
        assert_eq!(world.read(0, 6) == b"theirs", !is_kept);
        assert_eq!(world.reads > reads, !is_kept);
    }
}

#[test]
fn promise_that_is_broken_while_a_write_is_under_way_explains_nothing() {
    let mut world = world();
    world.is_telling = false;
    let promise = Arc::new(Given(AtomicBool::new(true)));
    send_two(&mut world);
    assert!(world.state.rely_on(world.file, promise.clone()));
    promise.0.store(false, Ordering::Relaxed);
    world.change_elsewhere(0, b"theirs");
    let batches = std::mem::take(&mut world.batches);
    let done: Vec<_> = batches.into_iter().map(|batch| world.carry_out(batch)).collect();
    world.end_writes(done);
    assert_eq!(world.read(0, 6), b"theirs");
}

#[test]
fn what_comes_between_an_own_write_and_the_next_look_is_seen() {
    let mut world = world();
    world.write(2 * BLOCK, b"mine");
    world.sync();
    world.change_elsewhere(0, b"theirs");
    learn(&mut world);
    assert_eq!(world.read(0, 6), b"theirs");
}

#[test]
fn own_writes_leave_what_is_known_however_their_replies_come() {
    for is_reversed in [false, true] {
        let mut world = world();
        let reads = world.reads;
        for _ in 0..3 {
            send_two(&mut world);
            let batches = std::mem::take(&mut world.batches);
            let mut done: Vec<_> = batches.into_iter().map(|batch| world.carry_out(batch)).collect();
            if is_reversed {
                done.reverse();
            }
            world.end_writes(done);
            learn(&mut world);
            world.read(0, 3 * BLOCK as usize);
        }
        assert_eq!(world.reads, reads);
    }
}

#[test]
fn own_writes_are_told_from_others_when_the_server_looks_at_the_file_around_several_of_them() {
    for is_changed in [false, true] {
        let mut world = world();
        let reads = world.reads;
        if is_changed {
            world.change_elsewhere(0, b"theirs");
        }
        send_two(&mut world);
        let batches = std::mem::take(&mut world.batches);
        let mut done: Vec<_> = batches.into_iter().map(|batch| world.carry_out(batch)).collect();
        let (first, last) = (done[0].2.before, done[1].2.after);
        done.iter_mut().for_each(|(.., told)| *told = FileChange { before: first, after: last });
        world.end_writes(done);
        let expected = if is_changed { *b"theirs" } else { [0, 1, 2, 3, 4, 5] };
        assert_eq!(world.read(0, 6), expected);
        assert_eq!(world.reads, reads + usize::from(is_changed));
    }
}

#[test]
fn server_that_leaves_out_what_a_write_found_is_believed_to_have_found_what_was_known() {
    let mut world = world();
    let reads = world.reads;
    send_two(&mut world);
    let batches = std::mem::take(&mut world.batches);
    let mut done: Vec<_> = batches.into_iter().map(|batch| world.carry_out(batch)).collect();
    done[0].2.before = None;
    world.end_writes(done);
    learn(&mut world);
    world.read(0, BLOCK as usize);
    assert_eq!(world.reads, reads, "the first WRITE may have found it");
    world.change_elsewhere(0, b"theirs");
    learn(&mut world);
    assert_eq!(world.read(0, 6), b"theirs");
}

#[test]
fn what_somebody_else_appends_is_seen_beside_own_writes() {
    let mut world = World::new(bytes(BLOCK + 10), quiet(), (BLOCK as u32, BLOCK as u32));
    world.is_telling = true;
    world.read(0, BLOCK as usize + 10);
    world.write(0, b"mine");
    world.state.want_written(world.file, true);
    world.begin_work();
    world.change_elsewhere(BLOCK + 10, b"appended");
    learn(&mut world);
    assert_eq!(world.read(BLOCK + 10, 8), b"appended", "while the own write is under way");
    world.change_elsewhere(BLOCK + 18, b" and more");
    world.answer_writes();
    assert_eq!(world.read(BLOCK + 10, 17), b"appended and more", "when it has ended");
}

#[test]
fn late_reply_that_tells_of_a_shorter_file_cuts_nothing() {
    let mut world = World::new(bytes(BLOCK), quiet(), (BLOCK as u32, BLOCK as u32));
    world.is_telling = true;
    world.write(BLOCK, &bytes(2 * BLOCK));
    world.state.want_written(world.file, false);
    world.begin_work();
    let batches = std::mem::take(&mut world.batches);
    let mut done: Vec<_> = batches.into_iter().map(|batch| world.carry_out(batch)).collect();
    let late = done[0].2.after;
    done[1].2.after = late;
    world.end_writes(done);
    assert_eq!(world.read(2 * BLOCK, BLOCK as usize), bytes(2 * BLOCK)[BLOCK as usize..]);
    learn(&mut world);
    assert_eq!(world.state.file_ref(world.file).size_bytes, 3 * BLOCK);
}

#[test]
fn refused_write_tells_nothing_and_accuses_nobody() {
    let mut world = world();
    let reads = world.reads;
    send_two(&mut world);
    let refused = world.batches.remove(0);
    world.answer_writes();
    let no_space = Error::new(&"server".into(), "WRITE", Reason::Status(Status::from(nfs3::Status::NoSpc)));
    world.state.end_write(world.file, &refused, Err(no_space));
    world.read(0, BLOCK as usize);
    assert_eq!(world.reads, reads);
}
