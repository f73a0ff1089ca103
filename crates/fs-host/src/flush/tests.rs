use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Condvar;
use std::thread::{self, JoinHandle};

use rustix::io::Errno;
use vfs::{Context, FileSystem, Handle, Name, OpenFile, OpenMode, Place, Stability};

use super::*;
use crate::{HostFs, HostOptions};

/// No caller waits for so long here.
const LONG: Duration = Duration::from_secs(3600);

/// A storage that flushes when it is told to, and remembers what it was asked for.
#[derive(Default)]
struct Scripted {
    script: Mutex<Script>,
    changed: Condvar,
    is_all_cheap: bool,
}

#[derive(Default)]
struct Script {
    /// How many flushes may end.
    tickets: usize,
    begun: Vec<String>,
    /// Files whose flush fails, by their names.
    broken: Vec<&'static str>,
    all: VecDeque<Result<()>>,
    pending: Vec<&'static str>,
    /// Files whose next flush gets an error when it begins, by their names.
    fails_once: Vec<&'static str>,
    /// Flushes that do not end before all are released.
    held: Vec<&'static str>,
}

impl Scripted {
    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    fn begin(&self, what: String) {
        let mut script = self.lock();
        script.begun.push(what.clone());
        self.changed.notify_all();
        let waits = |script: &mut Script| script.tickets == 0 || script.held.contains(&what.as_str());
        let mut script = self.changed.wait_while(script, waits).unwrap();
        script.tickets -= 1;
    }

    fn let_end(&self, count: usize) {
        self.lock().tickets += count;
        self.changed.notify_all();
    }

    /// Whether the flush of a file that begins now fails: as in the kernel, it gets the error and may still take long.
    fn fail(&self, name: &str) -> bool {
        let mut script = self.lock();
        let once = script.fails_once.iter().position(|failing| *failing == name);
        let fails_once = once.map(|place| script.fails_once.remove(place)).is_some();
        fails_once || script.broken.contains(&name)
    }

    fn release(&self) {
        self.lock().held.clear();
        self.changed.notify_all();
    }

    fn wait_for(&self, count: usize) -> Vec<String> {
        let script = self.changed.wait_while(self.lock(), |script| script.begun.len() < count).unwrap();
        script.begun.clone()
    }
}

/// The name of the memory behind a descriptor, which the kernel keeps.
fn name(fd: BorrowedFd<'_>) -> String {
    let path = rustix::fs::readlink(crate::proc_path::proc_path(fd).as_c_str(), Vec::new()).unwrap();
    let path = path.into_string().unwrap();
    let path = path.trim_start_matches("/memfd:").trim_end_matches(" (deleted)");
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

impl Storage for Arc<Scripted> {
    fn flush(&self, file: BorrowedFd<'_>, depth: Depth) -> Result<()> {
        let name = name(file);
        let fails = self.fail(&name);
        self.begin(format!("{name} {depth:?}"));
        if fails { Err(Errno::IO) } else { Ok(()) }
    }

    fn flush_all(&self) -> Result<()> {
        self.begin("everything".to_owned());
        self.lock().all.pop_front().unwrap_or(Ok(()))
    }

    fn pending_error(&self, file: BorrowedFd<'_>) -> Result<()> {
        if self.lock().pending.contains(&name(file).as_str()) { Err(Errno::NOSPC) } else { Ok(()) }
    }

    fn evict_lost(&self, _file: BorrowedFd<'_>) {}

    fn writes_through(&self) -> bool {
        true
    }

    fn is_all_cheap(&self) -> bool {
        self.is_all_cheap
    }
}

struct Stage {
    storage: Arc<Scripted>,
    group: Arc<FlushGroup>,
    counters: Arc<FlushCounters>,
}

fn memory(name: &str) -> OwnedFd {
    rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC).unwrap()
}

impl Stage {
    fn new(is_all_cheap: bool, is_shared: bool) -> Stage {
        Stage::made(is_all_cheap, is_shared, LONG)
    }

    /// With callers that wait for others for so long.
    fn with_wait(max_wait: Duration) -> Stage {
        Stage::made(false, true, max_wait)
    }

    fn made(is_all_cheap: bool, is_shared: bool, max_wait: Duration) -> Stage {
        let storage = Arc::new(Scripted { is_all_cheap, ..Scripted::default() });
        let counters = Arc::<FlushCounters>::default();
        let mut group =
            FlushGroup::new(Box::new(Arc::clone(&storage)), is_shared, Arc::clone(&counters), Losses::default());
        group.max_wait = max_wait;
        Stage { storage, group: Arc::new(group), counters }
    }

    /// Flushes on a thread of its own.
    fn flush(&self, files: &[&OwnedFd], depth: Depth) -> JoinHandle<Result<()>> {
        let group = Arc::clone(&self.group);
        let files: Vec<OwnedFd> = files.iter().map(|file| file.try_clone().unwrap()).collect();
        thread::spawn(move || {
            group.flush(&files.iter().map(|file| Flush { fd: file.as_fd(), depth, of: None }).collect::<Vec<_>>())
        })
    }

    /// Begins a flush of a file that is of no matter, and waits until it runs.
    fn occupy(&self) -> JoinHandle<Result<()>> {
        let first = self.flush(&[&memory("first")], Depth::All);
        self.storage.wait_for(1);
        first
    }

    fn wait_for_line(&self, length: usize) {
        while self.group.lock().waiting.len() < length {
            thread::yield_now();
        }
    }

    /// What was asked for after [`Stage::occupy`], sorted: the files of a group are flushed side by side.
    fn begun(&self) -> Vec<String> {
        let mut begun = self.storage.lock().begun[1..].to_vec();
        begun.sort();
        begun
    }
}

#[test]
fn caller_who_is_alone_flushes_his_own_files_in_their_order() {
    let stage = Stage::new(true, true);
    stage.storage.let_end(2);
    let (a, b) = (memory("a"), memory("b"));
    assert_eq!(stage.flush(&[&a, &b], Depth::All).join().unwrap(), Ok(()));
    assert_eq!(stage.storage.wait_for(2), ["a All", "b All"]);
    assert_eq!(stage.counters.counts(), FlushCounts { calls: 1, flushes: 2, ..FlushCounts::default() });
    assert!(stage.group.try_leave().is_some(), "nobody flushes any more");
}

#[test]
fn callers_that_come_during_a_flush_share_the_next_one_and_each_file_is_flushed_once() {
    let stage = Stage::new(false, true);
    let first = stage.occupy();
    let (dir, file) = (memory("dir"), memory("file"));
    let mut waiting = Vec::new();
    for (number, files) in [vec![&dir], vec![&file, &dir], vec![&dir], vec![&file]].into_iter().enumerate() {
        waiting.push(stage.flush(&files, if number == 3 { Depth::All } else { Depth::Data }));
        stage.wait_for_line(number + 1);
    }
    assert!(stage.group.try_leave().is_none());
    stage.storage.let_end(3);
    assert!(waiting.into_iter().chain([first]).all(|caller| caller.join().unwrap().is_ok()));
    assert_eq!(stage.begun(), ["dir Data", "file All"], "as deep as the most careful caller wants");
    assert_eq!(
        stage.counters.counts(),
        FlushCounts { calls: 5, flushes: 3, waits: 4, timeouts: 0, groups: 1, largest_group: 4 }
    );
}

#[test]
fn files_of_a_group_are_flushed_side_by_side_by_those_who_wait_for_them() {
    let stage = Stage::new(false, true);
    let first = stage.occupy();
    let files = ["a", "b", "c"].map(memory);
    let waiting: Vec<_> = (1..=3)
        .map(|length| {
            let caller = stage.flush(&[&files[length - 1]], Depth::All);
            stage.wait_for_line(length);
            caller
        })
        .collect();
    stage.storage.let_end(1);
    assert_eq!(stage.storage.wait_for(4).len(), 4, "three have begun, and none has ended");
    stage.storage.let_end(3);
    assert!(waiting.into_iter().chain([first]).all(|caller| caller.join().unwrap().is_ok()));
}

#[test]
fn caller_returns_when_its_own_files_are_flushed_however_long_others_of_its_group_take() {
    for slow in 0..2 {
        let stage = Stage::new(false, true);
        let first = stage.occupy();
        let files = ["a", "b"].map(memory);
        let mut callers: Vec<_> = (0..2)
            .map(|number| {
                let caller = stage.flush(&[&files[number]], Depth::All);
                stage.wait_for_line(number + 1);
                caller
            })
            .collect();
        stage.storage.lock().held.push(["a All", "b All"][slow]);
        stage.storage.let_end(3);
        assert!(first.join().unwrap().is_ok());
        let late = callers.remove(slow);
        assert_eq!(callers.remove(0).join().unwrap(), Ok(()), "while {slow} is being flushed");
        assert!(!late.is_finished());
        stage.storage.release();
        assert_eq!(late.join().unwrap(), Ok(()));
    }
}

#[test]
fn caller_that_has_waited_for_the_longest_time_flushes_by_itself() {
    let stage = Stage::with_wait(Duration::ZERO);
    let first = stage.occupy();
    let second = stage.flush(&[&memory("second")], Depth::Data);
    assert_eq!(stage.storage.wait_for(2)[1], "second Data", "while the first one is being flushed");
    stage.storage.let_end(2);
    assert!(first.join().unwrap().is_ok() && second.join().unwrap().is_ok());
    let counts = FlushCounts { calls: 2, flushes: 2, waits: 1, timeouts: 1, ..FlushCounts::default() };
    assert_eq!(stage.counters.counts(), counts);
    assert!(stage.group.lock().waiting.is_empty() && stage.group.try_leave().is_some());
}

#[test]
fn caller_that_has_left_its_group_is_not_asked_for_anything() {
    let stage = Stage::new(false, true);
    let requests = ["a", "b"].map(|name| {
        let file = memory(name);
        let flush = Flush::all(file.as_fd());
        Arc::new(FlushRequest::new(&[flush]).unwrap())
    });
    let batch = FlushBatch::of(requests.to_vec());
    assert!(requests[1].leave());
    batch.call_helpers();
    stage.storage.let_end(1);
    batch.flush_files_of(LEADER, &stage.group.flusher);
    assert_eq!(*stage.storage.wait_for(1), ["a All"], "nobody waits for the other file");
    assert!(matches!(requests[0].wait(Instant::now()), RequestState::Ended(Ok(()))));
    assert!(matches!(requests[1].wait(Instant::now()), RequestState::Left));
}

#[test]
fn caller_whose_files_are_flushed_is_not_asked_for_help() {
    let file = memory("a");
    let flush = Flush::all(file.as_fd());
    let request = Arc::new(FlushRequest::new(&[flush]).unwrap());
    request.end_file(Ok(()));
    request.lead();
    assert!(matches!(request.wait(Instant::now()), RequestState::Ended(Ok(()))));
    assert!(!request.leave());
}

#[test]
fn whoever_comes_during_the_flush_of_a_group_is_in_the_next_one() {
    let stage = Stage::new(false, true);
    let first = stage.occupy();
    let early = stage.flush(&[&memory("early")], Depth::All);
    stage.wait_for_line(1);
    stage.storage.let_end(1);
    stage.storage.wait_for(2);
    let late = [stage.flush(&[&memory("late")], Depth::All), stage.flush(&[&memory("late")], Depth::All)];
    stage.wait_for_line(2);
    stage.storage.let_end(1);
    assert!(first.join().unwrap().is_ok() && early.join().unwrap().is_ok());
    assert_eq!(stage.storage.wait_for(4).len(), 4, "the next leader does not wait for more to come");
    stage.storage.let_end(2);
    assert!(late.into_iter().all(|caller| caller.join().unwrap().is_ok()));
}

#[test]
fn error_of_a_file_is_told_to_all_who_asked_for_it_and_to_nobody_else() {
    let stage = Stage::new(false, true);
    stage.storage.lock().broken.push("bad");
    let first = stage.occupy();
    let (good, bad) = (memory("good"), memory("bad"));
    let asked = [vec![&good], vec![&bad], vec![&good, &bad], vec![&good]];
    let mut waiting = Vec::new();
    for (number, files) in asked.iter().enumerate() {
        waiting.push(stage.flush(files, Depth::All));
        stage.wait_for_line(number + 1);
    }
    stage.storage.let_end(3);
    assert!(first.join().unwrap().is_ok());
    let results: Vec<_> = waiting.into_iter().map(|caller| caller.join().unwrap()).collect();
    assert_eq!(results, [Ok(()), Err(Errno::IO), Err(Errno::IO), Ok(())]);
}

/// Flushes so many files together while another flush runs, and says how that ended.
fn crowd(stage: &Stage, names: &[&str]) -> Vec<Result<()>> {
    stage.storage.let_end(1000);
    stage.storage.lock().begun.clear();
    stage.storage.lock().tickets = 0;
    let first = stage.occupy();
    let mut waiting = Vec::new();
    for (number, name) in names.iter().enumerate() {
        waiting.push(stage.flush(&[&memory(name)], Depth::All));
        stage.wait_for_line(number + 1);
    }
    stage.storage.let_end(1000);
    assert!(first.join().unwrap().is_ok());
    waiting.into_iter().map(|caller| caller.join().unwrap()).collect()
}

#[test]
fn crowd_is_flushed_with_the_whole_file_system_where_that_is_cheaper() {
    let stage = Stage::new(true, true);
    let names = ["a", "b", "c", "d"];
    assert_eq!(crowd(&stage, &names), [Ok(()); 4]);
    assert_eq!(stage.begun().len(), 4, "nothing is known yet");
    stage.group.flusher.lock_costs().note(Way::Each, 4, Duration::from_secs(100));
    assert_eq!(crowd(&stage, &names), [Ok(()); 4]);
    assert_eq!(stage.begun(), ["everything"]);
}

#[test]
fn error_of_the_whole_file_system_is_told_apart_by_flushing_each_file() {
    let stage = Stage::new(true, true);
    crowd(&stage, &["a", "b", "c", "d"]);
    let mut script = stage.storage.lock();
    script.all.push_back(Err(Errno::IO));
    script.broken.push("c");
    drop(script);
    assert_eq!(crowd(&stage, &["a", "b", "c", "d"]), [Ok(()), Ok(()), Err(Errno::IO), Ok(())]);
    assert_eq!(stage.begun(), ["a All", "b All", "c All", "d All", "everything"]);
}

#[test]
fn earlier_error_of_a_file_is_not_hidden_by_a_flush_that_another_descriptor_was_used_for() {
    let stage = Stage::new(true, true);
    crowd(&stage, &["a", "b"]);
    stage.storage.lock().pending.push("b");
    assert_eq!(crowd(&stage, &["a", "b"]), [Ok(()), Err(Errno::NOSPC)]);
    assert_eq!(stage.begun(), ["everything"]);
}

#[test]
fn without_groups_each_caller_flushes_at_once() {
    let stage = Stage::new(true, false);
    let first = stage.occupy();
    let second = stage.flush(&[&memory("second")], Depth::All);
    stage.storage.wait_for(2);
    stage.storage.let_end(2);
    assert!(first.join().unwrap().is_ok() && second.join().unwrap().is_ok());
    assert_eq!(stage.counters.counts(), FlushCounts { calls: 2, flushes: 2, ..FlushCounts::default() });
}

#[test]
fn directory_and_file_of_this_machine_have_no_error_waiting() {
    let dir = File::open("/tmp").unwrap();
    assert_eq!(crate::sys::pending_error(dir.as_fd()), Ok(()));
    let file = rustix::fs::open("/tmp", rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR, 0o600.into()).unwrap();
    assert_eq!(crate::sys::pending_error(file.as_fd()), Ok(()));
    assert_eq!(crate::sys::write_out(file.as_fd()), Ok(()));
}

/// An export with one file, flushed by a storage of the test.
struct LostWrites {
    stage: Stage,
    fs: HostFs,
    folder: PathBuf,
    file: Handle,
}

const CX: Context<'static> = Context { may_block: true, ..Context::ROOT };

impl LostWrites {
    /// Callers wait for others for `max_wait`. The file's next flush gets an error.
    fn new(test: &str, max_wait: Duration) -> LostWrites {
        let folder = std::env::temp_dir().join(format!("wharf-flush-{test}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("export")).unwrap();
        std::fs::write(folder.join("export/f"), "data").unwrap();
        let options = HostOptions { state_dir: Some(folder.join("state")), ..HostOptions::default() };
        let mut fs = HostFs::open(&folder.join("export"), options).unwrap();
        let stage = Stage::with_wait(max_wait);
        fs.flushes = Arc::clone(&stage.group);
        fs.volume.is_memory = false;
        let place = Place { dir: fs.root(), name: Name::new(b"f").unwrap() };
        let file = fs.lookup(&CX, place).unwrap().handle;
        stage.storage.lock().fails_once.push("f");
        LostWrites { stage, fs, folder, file }
    }

    fn open(&self) -> Arc<dyn OpenFile> {
        self.fs.open(&CX, &self.file, OpenMode::Write).unwrap()
    }

    /// Begins to flush, gets the error, and does not end before [`Scripted::release`].
    fn begin_failing_flush(&self, file: &Arc<dyn OpenFile>) -> JoinHandle<vfs::Result<()>> {
        self.stage.storage.lock().held.push("f All");
        self.stage.storage.let_end(1000);
        let caller = spawn(file, |file| file.sync(&CX));
        self.stage.storage.wait_for(1);
        caller
    }
}

impl Drop for LostWrites {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn spawn<T: Send + 'static>(
    file: &Arc<dyn OpenFile>,
    call: impl FnOnce(&dyn OpenFile) -> T + Send + 'static,
) -> JoinHandle<T> {
    let file = Arc::clone(file);
    thread::spawn(move || call(&*file))
}

#[test]
fn error_that_another_flush_of_the_open_file_got_is_not_hidden_from_a_stable_write() {
    let export = LostWrites::new("write", LONG);
    let file = export.open();
    let first = export.begin_failing_flush(&file);
    let second = spawn(&file, |file| file.write_at(&CX, 0, b"more", Stability::File).map(drop));
    export.stage.wait_for_line(1);
    export.stage.storage.release();
    assert!(first.join().unwrap().is_err());
    assert!(second.join().unwrap().is_err(), "its bytes were there when the flush failed");
    assert!(file.write_at(&CX, 0, b"again", Stability::File).is_ok(), "written after the failure");
}

#[test]
fn error_that_a_flush_got_which_still_runs_is_not_hidden_from_one_that_ends_before() {
    let export = LostWrites::new("overtaken", Duration::ZERO);
    let file = export.open();
    let first = export.begin_failing_flush(&file);
    let second = spawn(&file, |file| file.write_at(&CX, 0, b"more", Stability::Data).map(drop));
    assert_eq!(export.stage.storage.wait_for(2)[1], "f Data");
    export.stage.storage.release();
    assert!(first.join().unwrap().is_err());
    assert!(second.join().unwrap().is_err());
    assert!(file.write_at(&CX, 0, b"again", Stability::Data).is_ok(), "written after the failure");
}

#[test]
fn error_is_not_hidden_from_a_file_that_was_opened_after_another_flush_got_it() {
    let export = LostWrites::new("opened", LONG);
    let first = export.begin_failing_flush(&export.open());
    let file = export.open();
    let second = spawn(&file, |file| file.sync(&CX));
    export.stage.wait_for_line(1);
    export.stage.storage.release();
    assert!(first.join().unwrap().is_err());
    assert!(second.join().unwrap().is_err());
    assert!(export.open().sync(&CX).is_ok());
}

#[test]
fn whole_file_system_is_not_said_to_be_on_storage_by_a_kernel_that_hides_failures() {
    let mut export = LostWrites::new("hidden", LONG);
    export.fs.volume.reports_failures = false;
    assert!(matches!(export.fs.sync_all(&CX), Err(vfs::Error::NotSupported)));
}
