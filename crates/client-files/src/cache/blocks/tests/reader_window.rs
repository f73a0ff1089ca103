//! What a sequential reader sees without a look at the blocks.

use std::sync::Arc;
use std::time::Duration;

use super::super::ids::ReaderId;
use super::super::reader_window::{ReaderWindow, View};
use super::*;

/// A reader of three blocks who has read the first ten bytes in tens.
fn world() -> World {
    let mut world = World::new(bytes(3 * BLOCK), quiet(), (BLOCK as u32, BLOCK as u32));
    assert_eq!(world.read(0, 10), bytes(10));
    world
}

/// What the reader sees of the next ten bytes without looking at the blocks.
fn seen(world: &World, at: u64) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 10];
    world.state.file_ref(world.file).reader_window.read(world.reader, at, &mut buffer).then_some(buffer)
}

#[test]
fn reader_sees_on_to_the_end_of_the_block_and_reads_on_from_there() {
    let mut world = world();
    for at in (10..BLOCK - 10).step_by(10) {
        assert_eq!(seen(&world, at).unwrap(), world.server[at as usize..at as usize + 10]);
    }
    assert_eq!(seen(&world, BLOCK - 6), None, "it ends in the next block");
    assert_eq!(seen(&world, 10), None, "it was seen");
    assert_eq!(world.read(BLOCK - 6, 10), world.server[BLOCK as usize - 6..BLOCK as usize + 4]);
    assert_eq!(seen(&world, BLOCK + 4).unwrap(), world.server[BLOCK as usize + 4..BLOCK as usize + 14]);
}

#[test]
fn nothing_is_seen_of_a_file_that_is_not_known_to_be_as_it_was() {
    for end in [
        |world: &mut World| world.write(2 * BLOCK, b"own"),
        |world: &mut World| world.state.forget(world.file),
        |world: &mut World| world.state.set_size(world.file, 15),
        |world: &mut World| world.state.begin_passing(world.file),
        |world: &mut World| world.state.file(world.file).checked_until = None,
        |world: &mut World| {
            let changes = world.state.file_ref(world.file).changes;
            world.state.learn(world.file, &attributes(3 * BLOCK, 77), changes);
        },
    ] {
        let mut world = world();
        assert!(seen(&world, 10).is_some());
        end(&mut world);
        assert_eq!(seen(&world, 20), None);
    }
}

#[test]
fn bytes_that_were_written_are_read_and_not_those_that_were_seen_before() {
    let mut world = world();
    assert_eq!(world.read(10, 10), world.server[10..20]);
    world.write(20, b"own bytes!");
    assert_eq!(world.read(20, 10), b"own bytes!");
    assert_eq!(world.read(30, 10), world.server[30..40]);
}

#[test]
fn readers_of_one_file_do_not_see_what_another_one_is_about_to_read() {
    let mut world = world();
    let attributes = attributes(3 * BLOCK, 0);
    let (file, other) = world.state.open(&Handle::new(b"file").unwrap(), &attributes);
    let mut buffer = [0; 10];
    assert_eq!(world.read(10, 10), world.server[10..20]);
    assert!(!world.state.file_ref(file).reader_window.read(other, 20, &mut buffer));
    world.state.close(file, other);
    assert_eq!(world.read(20, 10), world.server[20..30]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_seen_for_longer_than_the_file_is_believed() {
    let reader = ReaderId::new(1);
    let (reader_window, soon) = (Arc::new(ReaderWindow::default()), Duration::from_millis(50));
    let view = |until| View { reader, next: 0, bytes: bytes::Bytes::from_static(b"0123456789"), until };
    reader_window.open(view(Instant::now() + soon));
    reader_window.watch(&tokio::runtime::Handle::current());
    let mut byte = [0];
    tokio::time::sleep(soon / 2).await;
    assert!(reader_window.read(reader, 0, &mut byte) && byte == *b"0");
    tokio::time::sleep(soon).await;
    assert!(!reader_window.read(reader, 1, &mut byte));
    assert_eq!(reader_window.close(), Some((reader, 1)), "it is known how far the reader has come");
    // A reader that reads again is tracked again.
    reader_window.open(view(Instant::now() + soon));
    reader_window.watch(&tokio::runtime::Handle::current());
    tokio::time::sleep(2 * soon).await;
    assert!(!reader_window.read(reader, 0, &mut byte));
}
