//! Locks of the server and of local processes meet.

use std::fs::File;
use std::process::Command;

use vfs::{Context, CreateMode, FileLock, FileSystem, LockFile, LockOutcome, Name, Place, SetAttributes};
use wharf_fs_host::{HandleForm, HostFs};

use testing::host_export::Export;

const FREE: LockOutcome = LockOutcome::Free;

fn lock(first_bytes: u64, last_bytes: u64, exclusive: bool) -> FileLock {
    FileLock { first_bytes, last_bytes, exclusive }
}

/// The file system, and a second way to lock one file: with respect to the first, a local process's.
fn two_lockers(export: &Export) -> (Box<dyn LockFile>, Box<dyn LockFile>) {
    let fs: HostFs = export.open(HandleForm::Auto);
    let place = Place { dir: fs.root(), name: Name::new(b"file").unwrap() };
    let file = fs.create(&Context::ROOT, place, CreateMode::Guarded, &SetAttributes::default()).unwrap().handle;
    (fs.open_for_locks(&Context::ROOT, &file).unwrap(), fs.open_for_locks(&Context::ROOT, &file).unwrap())
}

/// Which of the bytes 0 to 9 another locker could have: `w` exclusively, `r` shared, `-` not at all.
fn left_by(other: &dyn LockFile) -> String {
    let of = |at| match (other.test(lock(at, at, true)).unwrap(), other.test(lock(at, at, false)).unwrap()) {
        (FREE, _) => 'w',
        (_, FREE) => 'r',
        _ => '-',
    };
    (0..10).map(of).collect()
}

#[test]
fn exactly_the_wanted_ranges_are_held() {
    let export = Export::on_disk();
    let (mut server, other) = two_lockers(&export);
    for (change, left) in [
        (Ok(lock(2, 5, true)), "ww----wwww"),
        (Ok(lock(4, 7, false)), "ww--rrrrww"),
        (Ok(lock(3, 3, false)), "ww-rrrrrww"),
        (Err(vec![0..=2, 5..=6]), "wwwrrwwrww"),
        (Ok(lock(1, 8, true)), "w--------w"),
        (Ok(lock(7, u64::MAX, false)), "w------rrr"),
        (Ok(lock(u64::MAX, u64::MAX, true)), "w------rrr"),
        (Err(vec![2..=7, 9..=u64::MAX]), "w-wwwwwwrw"),
        (Err(vec![u64::MAX..=u64::MAX]), "w-wwwwwwrw"),
        (Err(vec![0..=u64::MAX]), "wwwwwwwwww"),
    ] {
        match &change {
            Ok(taken) => assert_eq!(server.take(*taken).unwrap(), FREE),
            Err(released) => server.release(released).unwrap(),
        }
        assert_eq!(left_by(&*other), left, "{change:?}");
    }
}

#[test]
fn refused_change_leaves_the_locks_of_before() {
    let export = Export::on_disk();
    let (mut server, mut other) = two_lockers(&export);
    server.take(lock(0, 2, true)).unwrap();
    server.take(lock(4, 5, false)).unwrap();
    other.take(lock(8, 8, true)).unwrap();
    let before = left_by(&*other);
    assert_eq!(before, "---wrrwwww");
    for wanted in [lock(1, 9, false), lock(5, 9, true)] {
        assert_eq!(server.take(wanted).unwrap(), LockOutcome::Taken(lock(8, 8, true)));
        assert_eq!(left_by(&*other), before);
    }
    // It is still known what is held: giving it up leaves nothing behind.
    server.release(&[0..=0, 2..=5]).unwrap();
    assert_eq!(left_by(&*other), "w-wwwwwwww");
}

#[test]
fn thousands_of_ranges_are_held_and_given_up() {
    let export = Export::on_disk();
    let (mut server, mut other) = two_lockers(&export);
    other.take(lock(50_005, 50_005, true)).unwrap();
    (0..16_384).for_each(|at| assert_eq!(server.take(lock(10 * at, 10 * at, true)).unwrap(), FREE));
    for at in [0, 1023, 1024, 5001, 16_383] {
        let taken = other.test(lock(10 * at, 10 * at, false)).unwrap();
        assert!(matches!(taken, LockOutcome::Taken(_)), "range {at} is not held: {taken:?}");
    }
    // Half as many as are held exactly are held exactly again.
    let released: Vec<_> = (512..16_384).map(|at| 10 * at..=10 * at).collect();
    server.release(&released).unwrap();
    assert_eq!(left_by(&*other), "-wwwwwwwww");
    assert_eq!(other.test(lock(5111, 200_000, true)).unwrap(), FREE);
    assert_eq!(other.test(lock(5110, 5110, true)).unwrap(), LockOutcome::Taken(lock(5110, 5110, true)));
}

#[test]
fn own_locks_do_not_stand_in_the_way_of_a_test() {
    let export = Export::on_disk();
    let (mut server, _) = two_lockers(&export);
    server.take(lock(0, 9, true)).unwrap();
    assert_eq!(server.test(lock(5, 20, true)).unwrap(), FREE);
}

#[test]
fn closing_another_descriptor_keeps_the_locks_and_dropping_gives_them_up() {
    let export = Export::on_disk();
    let (mut server, other) = two_lockers(&export);
    server.take(lock(0, 9, true)).unwrap();
    drop(File::open(export.path().join("file")).unwrap());
    assert_eq!(left_by(&*other), "----------");
    drop(server);
    assert_eq!(left_by(&*other), "wwwwwwwwww");
}

#[test]
fn process_with_posix_locks_meets_the_server() {
    let export = Export::on_disk();
    let (mut server, _) = two_lockers(&export);
    server.take(lock(3, 5, true)).unwrap();
    let script = "import fcntl, sys
file = open(sys.argv[1], 'r+')
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 2, 6)
try:
    fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 5)
except OSError:
    print('refused')";
    let Ok(said) = Command::new("python3").args(["-c", script]).arg(export.path().join("file")).output() else {
        println!("skipped: there is no python3");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&said.stdout), "refused\n", "{}", String::from_utf8_lossy(&said.stderr));
}
