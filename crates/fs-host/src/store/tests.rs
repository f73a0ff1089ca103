//! The store against a model, through kills, crashes and damage, and taking over the earlier form.

use std::collections::HashMap;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::old_log::OldLogLine;
use super::old_log::tests::line;
use super::*;

static NEXT: AtomicU32 = AtomicU32::new(0);

#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

const EXPORT: &[u8] = b"/srv";

struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> TestFolder {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = TestFolder(std::env::temp_dir().join(format!("wharf-store-{}-{number}", std::process::id())));
        OwnDir::create(&folder.0).unwrap();
        folder
    }

    fn dir(&self) -> OwnDir {
        OwnDir::open(&self.0).unwrap()
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.0.join("export").with_extension(extension)
    }

    fn open(&self) -> Store {
        Store::open(&self.dir(), "export", EXPORT).unwrap()
    }

    /// The files as a kill of the server would leave them.
    fn after_kill(&self) -> TestFolder {
        let copy = TestFolder::new();
        for extension in ["numbers", "index"] {
            std::fs::copy(self.file(extension), copy.file(extension)).unwrap();
        }
        copy
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn file(fileid: u64) -> StoredFile {
    let fingerprint = Fingerprint { fileid, device: 0, evidence: fileid.to_le_bytes().to_vec() };
    let length = if fileid.is_multiple_of(50) { 255 } else { 20 };
    StoredFile { id: 0, parent: 1, name: format!("{fileid:0>length$}").into_bytes(), fingerprint }
}

fn is_known(store: &Store, fileid: u64, id: u64) -> bool {
    let seen = file(fileid);
    let known = store.record(id).unwrap();
    store.known(&seen.fingerprint).unwrap() == known && known == Some(StoredFile { id, ..seen })
}

/// Clients still have handles with the numbers of a table that is lost, as when a state directory was restored in part.
#[test]
fn number_of_a_lost_table_leads_to_no_other_file() {
    let folder = TestFolder::new();
    let ids: Vec<u64> = (0..100).map(|fileid| folder.open().id(file(fileid), true).unwrap()).collect();
    std::fs::remove_file(folder.file("numbers")).unwrap();
    let store = folder.open();
    let others: Vec<u64> = (100..200).map(|fileid| store.id(file(fileid), true).unwrap()).collect();
    assert!(ids.iter().all(|id| !others.contains(id) && store.record(*id).unwrap().is_none()), "{ids:?} {others:?}");
    for any in (0..64).map(|bits| others[99].wrapping_add(1 << bits)).filter(|any| !others.contains(any)) {
        assert!(store.record(any).unwrap().is_none(), "{any}");
    }
}

#[test]
fn store_agrees_with_a_model_through_growth_removal_and_restarts() {
    let (folder, mut model, mut random) = (TestFolder::new(), HashMap::new(), 7_u64);
    let mut highest = 0;
    for _ in 0..4 {
        let store = folder.open();
        for _ in 0..5_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let fileid = (random >> 33) % 6_000;
            match model.remove(&fileid) {
                Some(id) => store.forget(id).unwrap(),
                None => {
                    let id = store.id(file(fileid), true).unwrap();
                    assert!(id > highest, "{id} was given before");
                    highest = id;
                    model.insert(fileid, id);
                }
            }
            store.flush().unwrap();
        }
        assert!(model.iter().all(|(&fileid, &id)| is_known(&store, fileid, id)));
        assert!((0..6_000).all(|id| model.contains_key(&id) || store.known(&file(id).fingerprint).unwrap().is_none()));
    }
}

#[test]
fn what_was_flushed_survives_a_kill_and_its_numbers_are_not_given_again() {
    let folder = TestFolder::new();
    let store = folder.open();
    let ids: Vec<_> = (0..8_000).map(|fileid| store.id(file(fileid), true).unwrap()).collect();
    store.flush().unwrap();
    let last = *ids.iter().max().unwrap();
    let killed = folder.after_kill();
    let store = killed.open();
    assert!((0..).zip(&ids).all(|(fileid, &id)| is_known(&store, fileid, id)));
    assert!(store.id(file(70_000), true).unwrap() > last);
}

#[test]
fn file_that_is_recognised_otherwise_from_now_on_is_found_after_a_kill() {
    let folder = TestFolder::new();
    let store = folder.open();
    let ids: Vec<_> = (0..4_000).map(|fileid| store.id(file(fileid), true).unwrap()).collect();
    store.put(StoredFile { id: ids[3], ..file(90_000) }).unwrap();
    store.flush().unwrap();
    let store = folder.after_kill();
    let store = store.open();
    assert!(is_known(&store, 90_000, ids[3]));
    assert_eq!(store.known(&file(3).fingerprint).unwrap(), None);
}

#[test]
fn crash_of_the_machine_that_lost_the_index_costs_no_number() {
    let folder = TestFolder::new();
    let store = folder.open();
    let ids: Vec<_> = (0..8_000).map(|fileid| store.id(file(fileid), true).unwrap()).collect();
    store.flush().unwrap();
    let crashed = folder.after_kill();
    let index = std::fs::File::options().write(true).open(crashed.file("index")).unwrap();
    // Another start of the machine, and pages that did not come to the disk.
    index.write_all_at(b"00000000", 28).unwrap();
    index.write_all_at(&vec![0; 64 << 10], 4096).unwrap();
    let store = crashed.open();
    assert!((0..).zip(&ids).all(|(fileid, &id)| is_known(&store, fileid, id)));
}

#[test]
fn space_of_files_that_are_gone_comes_back() {
    let folder = TestFolder::new();
    let store = folder.open();
    let used = || std::fs::metadata(folder.file("numbers")).unwrap().blocks() * 512;
    for fileid in 0..20_000 {
        let id = store.id(file(fileid), true).unwrap();
        store.flush().unwrap();
        store.forget(id).unwrap();
        store.flush().unwrap();
    }
    // Numbers are given out one behind the other, so the table is a hole by now.
    assert!(used() < 1 << 20, "{} bytes are used", used());
    let ids: Vec<_> = (0..20_000).map(|fileid| store.id(file(fileid), true).unwrap()).collect();
    store.flush().unwrap();
    assert!(used() > 2 << 20);
    ids.iter().for_each(|&id| store.forget(id).unwrap());
    store.flush().unwrap();
    assert!(used() < 1 << 20, "{} bytes are used", used());
}

#[test]
fn files_that_are_gone_are_written_down_together_and_a_kill_leaves_records_of_few() {
    let folder = TestFolder::new();
    let store = folder.open();
    let ids: Vec<_> = (0..8_000).map(|fileid| store.id(file(fileid), true).unwrap()).collect();
    store.flush().unwrap();
    let (gone, kept) = ids.split_at(6_000);
    let left = || {
        let killed = folder.after_kill();
        let store = killed.open();
        assert!((6_000..).zip(kept).all(|(fileid, &id)| is_known(&store, fileid, id)));
        gone.iter().filter(|&&id| store.record(id).unwrap().is_some()).count()
    };
    for &id in gone {
        store.forget_removed(id).unwrap();
        store.flush().unwrap();
        assert!(store.lock().slots.pending() <= 256);
    }
    assert!((1..=256).contains(&left()), "{} are left", left());
    store.flush_all().unwrap();
    assert_eq!(left(), 0);
}

#[test]
fn file_that_is_gone_is_unknown_at_once() {
    let folder = TestFolder::new();
    let store = folder.open();
    let gone: Vec<_> = (0..100).map(|fileid| store.id(file(fileid), true).unwrap()).collect();
    store.flush().unwrap();
    gone.iter().for_each(|&id| store.forget_removed(id).unwrap());
    let is_unknown = || {
        let is_gone = |(fileid, &id)| {
            store.record(id).unwrap().is_none() && store.known(&file(fileid).fingerprint).unwrap().is_none()
        };
        (0..).zip(&gone).all(is_gone)
    };
    assert!(is_unknown());
    // Enough others that nothing of what was used lately is in memory.
    for fileid in 1_000..10_000 {
        store.id(file(fileid), true).unwrap();
        store.flush().unwrap();
    }
    assert!(is_unknown());
}

#[test]
fn log_of_an_earlier_version_is_taken_over_but_for_what_is_damaged() {
    let folder = TestFolder::new();
    let record = |id| StoredFile { id, ..file(id) };
    let mut log = line(&OldLogLine::Export(EXPORT.to_vec()));
    log.extend((1..=1000).flat_map(|id| line(&OldLogLine::Node(record(id)))));
    let damaged_at = log.len() - 30;
    // What servers did after damage: they went on far ahead.
    let far = 1 << 40;
    log.extend((far..far + 100).flat_map(|id| line(&OldLogLine::Node(record(id)))));
    log.extend(line(&OldLogLine::Gone(5)));
    log.extend(line(&OldLogLine::Node(StoredFile { parent: 9, ..record(6) })));
    log[damaged_at] ^= 1;
    folder.dir().file("export.handles").unwrap().write_all_at(&log, 0).unwrap();
    for _ in 0..2 {
        let store = folder.open();
        assert!((1..1000).chain(far..far + 100).filter(|id| ![5, 6].contains(id)).all(|id| is_known(&store, id, id)));
        assert_eq!(store.record(6).unwrap().unwrap().parent, 9);
        assert!([5, 1000, 1001, far - 1].iter().all(|&id| store.record(id).unwrap().is_none()));
        assert!(store.id(file(5), true).unwrap() >= far + 100);
    }
    assert!(!folder.file("handles").exists());
}

/// `cargo test --release -p wharf-fs-host --lib -- --ignored --nocapture ten_million`: what the decision's table tells
/// of it.
#[test]
#[ignore = "it takes minutes and 2 GB of disk"]
fn ten_million_files_are_known_in_little_memory_and_opened_at_once() {
    const FILES: u64 = 10_000_000;
    let memory = || MEMORY.current_usage() >> 20;
    let timed = |what: &str, count: u64, run: &mut dyn FnMut()| {
        let began = std::time::Instant::now();
        run();
        let took = began.elapsed();
        println!("{what}: {took:.2?}, {:.2} us each, {} MiB", took.as_secs_f64() * 1e6 / count as f64, memory());
        took
    };
    let folder = TestFolder::new();
    let mut store = Some(folder.open());
    timed("numbering", FILES, &mut || {
        for fileid in 0..FILES {
            store.as_ref().unwrap().id(file(fileid), true).unwrap();
            store.as_ref().unwrap().flush().unwrap();
        }
    });
    let killed = folder.after_kill();
    timed("closing", 1, &mut || drop(store.take()));
    let find = |store: &Store| {
        for step in 0..300_000 {
            let fileid = step * 7_919 % FILES;
            let known = store.known(&file(fileid).fingerprint).unwrap();
            assert!(known.is_some_and(|known| store.record(known.id).unwrap() == Some(known)));
        }
    };
    for (case, folder) in [("after closing", &folder), ("after a kill", &killed)] {
        let took = timed(&format!("opening {case}"), 1, &mut || store = Some(folder.open()));
        assert!(took.as_secs() < 2);
        timed("finding both ways", 300_000, &mut || find(store.as_ref().unwrap()));
        assert!(memory() < 256);
        store = None;
    }
    std::fs::remove_file(folder.file("index")).unwrap();
    timed("making the index anew", FILES, &mut || store = Some(folder.open()));
    assert!(memory() < 256);
    find(store.as_ref().unwrap());
}
