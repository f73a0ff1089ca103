//! Searching for files that somebody on the host has moved or removed: what it costs is bounded, whoever asks for
//! whatever. A program of its own, since it counts the memory of the process.
#![allow(clippy::unwrap_used, reason = "this is test code, some of it outside of test functions")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use peak_alloc::PeakAlloc;
use testing::host_export::*;
use vfs::{Context, Error, FileSystem, Handle};
use wharf_fs_host::{HandleForm, HostFs};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const THREADS: usize = 8;

/// One test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Asks until there is an answer, as a client does that is told to retry.
fn is_stale(fs: &HostFs, worker: usize, file: &Handle) -> bool {
    loop {
        match fs.attributes(&Context { worker, ..CX }, file) {
            Ok(_) => return false,
            Err(Error::Stale) => return true,
            Err(Error::TryLater(_)) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => panic!("{error}"),
        }
    }
}

/// A tree of 20 000 directories, and what memory the searches for `ask` took in it at most.
fn peak_of_searches(export: &Export, ask: impl FnOnce(&HostFs)) -> usize {
    for number in 0..20_000 {
        let dir = format!("directory-{:03}/and-another-one-below-it-{number}", number % 20);
        std::fs::create_dir_all(export.path().join(dir)).unwrap();
    }
    let fs = export.open(HandleForm::Store);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    ask(&fs);
    MEMORY.peak_usage() - before
}

#[test]
fn searches_share_one_walk_and_find_all_that_was_moved_in_little_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let export = Export::in_memory();
    let files: Vec<_> = {
        let fs = export.open(HandleForm::Store);
        (0..THREADS * 25).map(|number| touch(&fs, &number.to_string()).handle).collect()
    };
    let away = export.path().join("directory-007/away");
    std::fs::create_dir_all(&away).unwrap();
    for number in 0..files.len() {
        let path = export.path().join(number.to_string());
        if number % 2 == 0 { std::fs::remove_file(path) } else { std::fs::rename(path, away.join(number.to_string())) }
            .unwrap();
    }
    let peak = peak_of_searches(&export, |fs| {
        std::thread::scope(|scope| {
            for worker in 0..THREADS {
                let mut own = files.iter().enumerate().skip(worker).step_by(THREADS);
                scope.spawn(move || own.all(|(number, file)| is_stale(fs, worker, file) == (number % 2 == 0)));
            }
        });
        let wrong = (0..).zip(&files).filter(|(number, file)| is_stale(fs, 0, file) != (number % 2 == 0)).count();
        assert_eq!(wrong, 0);
    });
    assert!(peak < 4 << 20, "{peak} bytes");
}

#[test]
fn client_with_thousands_of_stale_handles_gets_its_answers_and_takes_no_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let export = Export::in_memory();
    let files: Vec<_> = {
        let fs = export.open(HandleForm::Store);
        let files = (0..5_000).map(|number| touch(&fs, &number.to_string()).handle).collect();
        (0..5_000).for_each(|number| std::fs::remove_file(export.path().join(number.to_string())).unwrap());
        files
    };
    let peak = peak_of_searches(&export, |fs| assert!(files.iter().all(|file| is_stale(fs, 0, file))));
    assert!(peak < 4 << 20, "{peak} bytes");
}
