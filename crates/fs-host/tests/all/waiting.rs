//! What a thread that may not wait leaves to others, and that it has changed nothing by then.

use std::ops::ControlFlow;

use vfs::{Context, CreateMode, Detail, Error, FileSystem, OpenMode, ReadDir, SetAttributes};
use wharf_fs_host::HandleForm;

use testing::host_export::*;

const LOOP: Context<'static> = Context { may_block: false, ..Context::ROOT };

/// More than a loop takes or frees at once.
const LARGE_BYTES: usize = 8 << 20;

#[test]
fn name_that_the_kernel_has_in_memory_is_looked_up_without_waiting() {
    for form in forms() {
        let export = Export::on_disk();
        let fs = export.open(form);
        let made = touch(&fs, "f");
        let found = fs.lookup(&LOOP, at(&fs.root(), "f")).unwrap();
        assert_eq!((found.handle, found.attributes.fileid), (made.handle, made.attributes.fileid));
        // The first search for a name that is missing asks the disk; the kernel remembers that it is.
        assert!(matches!(fs.lookup(&CX, at(&fs.root(), "missing")), Err(Error::NoEntry)));
        assert!(matches!(fs.lookup(&LOOP, at(&fs.root(), "missing")), Err(Error::NoEntry)));
    }
}

#[test]
fn name_that_the_kernel_would_look_for_on_a_disk_would_block() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    touch(&fs, "f");
    assert!(matches!(fs.lookup(&LOOP, at(&fs.root(), "never asked for")), Err(Error::WouldBlock)));
}

#[test]
fn listing_of_a_directory_on_a_disk_would_block() {
    let (disk, memory) = (Export::on_disk(), Export::in_memory());
    let list = |export: &Export| {
        let fs = export.open(HandleForm::Auto);
        let list = ReadDir { dir: &fs.root(), after: 0, detail: Detail::Names };
        fs.read_dir(&LOOP, list, &mut |_| ControlFlow::Continue(()))
    };
    assert!(matches!(list(&disk), Err(Error::WouldBlock)));
    assert!(list(&memory).is_ok());
}

#[test]
fn large_file_in_memory_is_freed_on_a_thread_that_may_wait() {
    for form in forms() {
        let export = Export::in_memory();
        let fs = export.open(form);
        let root = fs.root();
        let large = touch(&fs, "large").handle;
        write(&fs, &large, &vec![1; LARGE_BYTES]);
        touch(&fs, "small");
        let cut = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
        assert!(matches!(fs.remove(&LOOP, at(&root, "large")), Err(Error::WouldBlock)));
        assert!(matches!(fs.rename(&LOOP, at(&root, "small"), at(&root, "large")), Err(Error::WouldBlock)));
        assert!(matches!(fs.set_attributes(&LOOP, &large, &cut), Err(Error::WouldBlock)));
        assert!(matches!(fs.create(&LOOP, at(&root, "large"), CreateMode::Unchecked, &cut), Err(Error::WouldBlock)));
        assert_eq!(fs.attributes(&CX, &large).unwrap().size_bytes, LARGE_BYTES as u64);
        assert!(fs.lookup(&CX, at(&root, "small")).is_ok());
        // One of two names goes at once, since nothing is freed.
        fs.link(&CX, &large, at(&root, "second")).unwrap();
        fs.remove(&LOOP, at(&root, "second")).unwrap();
        fs.remove(&CX, at(&root, "large")).unwrap();
        fs.remove(&LOOP, at(&root, "small")).unwrap();
    }
}

#[test]
fn large_space_in_memory_is_taken_on_a_thread_that_may_wait() {
    let export = Export::in_memory();
    let fs = export.open(HandleForm::Auto);
    let file = fs.open(&CX, &touch(&fs, "f").handle, OpenMode::Write).unwrap();
    let range = 0..LARGE_BYTES as u64;
    assert!(matches!(file.allocate(&LOOP, range.clone()), Err(Error::WouldBlock)));
    assert!(matches!(file.deallocate(&LOOP, range), Err(Error::WouldBlock)));
    assert!(file.allocate(&LOOP, 0..4096).is_ok());
}

#[test]
fn everything_is_synced_on_a_thread_that_may_wait_and_in_memory_at_once() {
    for form in forms() {
        let (on_disk, in_memory) = (Export::on_disk(), Export::in_memory());
        let (disk, memory) = (on_disk.open(form), in_memory.open(form));
        touch(&disk, "f");
        assert!(matches!(disk.sync_all(&LOOP), Err(Error::WouldBlock)));
        disk.sync_all(&CX).unwrap();
        assert!(memory.sync_all(&LOOP).is_ok());
    }
}

#[test]
fn memory_of_unsynced_changes_is_that_of_the_device_until_the_machine_restarts() {
    let (first, second) = (Export::on_disk(), Export::on_disk());
    let memory = |export: &Export| export.open(HandleForm::Auto).memory();
    assert!(memory(&first).is_some());
    assert_eq!(memory(&first), memory(&first), "a restart of the server alone loses nothing");
    assert_eq!(memory(&first), memory(&second));
    assert_eq!(memory(&Export::in_memory()), None, "nothing is ever on stable storage there");
}
