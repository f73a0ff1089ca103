//! Calls that wait, as for a server that is gone: who is killed does not wait for them, and nobody else notices.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use fs_mem::{MemFs, MemOptions};
use mount::{Options, Validity};
use vfs::{Context, Entry, Error, FileSystem, Found, Handle, Name, OpenFile, OpenMode, Place, Result};

use crate::support::{LONG, Site};

/// A file system in which to look up `slow`, and to sync any file, takes until somebody opens the gate.
struct Gated {
    inner: MemFs,
    gate: Arc<Gate>,
}

struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
    waiting: Mutex<u32>,
}

impl Gated {
    fn new() -> Arc<Gated> {
        let gate = Gate { is_open: Mutex::new(false), opened: Condvar::new(), waiting: Mutex::new(0) };
        Arc::new(Gated { inner: MemFs::new(MemOptions::default()), gate: Arc::new(gate) })
    }
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        *self.waiting.lock().unwrap() += 1;
        let is_open = self.is_open.lock().unwrap();
        drop(self.opened.wait_while(is_open, |is_open| !*is_open).unwrap());
    }

    fn wait_for(&self, count: u32) {
        wait_until(|| *self.waiting.lock().unwrap() >= count);
    }
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Gated {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, parent, read_link, hold, has_local_locks, open_for_locks, lease_break_time, lease, read_dir,
        create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs,
        remove_xattr, acls, set_acls, maintain, sync_all, memory, space, losses, log_marks, set_log_mark);

    fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        if place.name == Name::new(b"slow").unwrap() {
            self.gate.pass();
            return Err(Error::NoEntry);
        }
        self.inner.lookup(cx, place)
    }

    fn find(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Found> {
        self.lookup(cx, place).map(|entry| Found { entry, is_current: true })
    }

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        Ok(Arc::new(GatedFile { inner: self.inner.open(cx, node, mode)?, gate: Arc::clone(&self.gate) }))
    }
}

struct GatedFile {
    inner: Arc<dyn OpenFile>,
    gate: Arc<Gate>,
}

#[deny(clippy::missing_trait_methods)]
impl OpenFile for GatedFile {
    vfs::forward!(OpenFile for self.inner:
        read_at, read_lent, write_at, write_parts_at, check_written, seek, allocate, deallocate, copy_range, clone_range, lock,
        test_lock, unlock, attributes, host_file, is_resident, evict);

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        self.gate.pass();
        self.inner.sync(cx)
    }
}

/// What each test works with; the gate opens when it is over, whatever comes of it.
struct Stage {
    fs: Arc<Gated>,
    site: Site,
}

impl Stage {
    fn new() -> Option<Stage> {
        let fs = Gated::new();
        let options = Options { validity: Validity::NONE, ..Options::default() };
        Some(Stage { site: Site::new(Arc::clone(&fs) as Arc<_>, options)?, fs })
    }

    /// A process that looks up `slow` and waits for it.
    fn waiter(&self, shell: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", shell]).arg(self.site.path("slow")).stdin(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// A process that has written to a file, and has it open until it ends: by a signal, or when its input ends.
    fn writer(&self, name: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "exec >\"$0\"; echo x; read -r line; exit 7"]).arg(self.site.path(name));
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        wait_until(|| fs::metadata(self.site.path(name)).is_ok_and(|file| file.len() == 2));
        child
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.fs.gate.open();
    }
}

fn wait_until(mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_true() {
        assert!(Instant::now() < end, "waited in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn end_of(child: &mut Child) -> ExitStatus {
    let mut status = None;
    wait_until(|| {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn process_that_is_killed_ends_while_its_call_still_waits() {
    let Some(stage) = Stage::new() else { return };
    for (number, (name, expected)) in (1..).zip([("-TERM", 15), ("-KILL", 9), ("-USR2", 12)]) {
        let mut child = stage.waiter("exec stat \"$0\"");
        stage.fs.gate.wait_for(number);
        signal(&child, name);
        assert_eq!(end_of(&mut child).signal(), Some(expected));
    }
    // The mount is as good as before.
    assert_eq!(fs::read_dir(stage.site.dir()).unwrap().count(), 0);
}

#[test]
fn process_that_is_killed_ends_while_the_kernel_still_closes_its_files() {
    let Some(stage) = Stage::new() else { return };
    for (number, (name, expected)) in (1..).zip([("-TERM", 15), ("-KILL", 9)]) {
        let mut child = stage.writer(name);
        signal(&child, name);
        stage.fs.gate.wait_for(number);
        assert_eq!(end_of(&mut child).signal(), Some(expected));
    }
    stage.fs.gate.open();
    assert_eq!(fs::read(stage.site.path("-KILL")).unwrap(), b"x\n", "what it wrote is kept");
}

#[test]
fn process_that_exits_by_itself_has_its_data_at_the_server() {
    let Some(stage) = Stage::new() else { return };
    let mut child = stage.writer("file");
    drop(child.stdin.take());
    stage.fs.gate.wait_for(1);
    // Long enough for an answer that should not come.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None);
    stage.fs.gate.open();
    assert_eq!(end_of(&mut child).code(), Some(7));
}

#[test]
fn signal_that_a_process_catches_does_not_interrupt_it_and_a_later_one_still_kills() {
    let Some(stage) = Stage::new() else { return };
    // The shell catches USR1, and looks up the name by itself.
    let mut child = stage.waiter("trap : USR1; test -e \"$0\"; exit 7");
    stage.fs.gate.wait_for(1);
    signal(&child, "-USR1");
    // Long enough for an answer that should not come.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None);
    signal(&child, "-KILL");
    assert_eq!(end_of(&mut child).signal(), Some(9));
    let mut child = stage.waiter("trap : USR1; test -e \"$0\"; exit 7");
    stage.fs.gate.wait_for(2);
    signal(&child, "-USR1");
    stage.fs.gate.open();
    assert_eq!(end_of(&mut child).code(), Some(7));
}

#[test]
fn more_waiting_processes_than_threads_can_all_be_killed() {
    let Some(stage) = Stage::new() else { return };
    // A directory allows one who looks up a name that nobody knows at a time, unless the file system says that it takes
    // more.
    let mut children: Vec<Child> = (0..80).map(|_| stage.waiter("exec stat \"$0\"")).collect();
    stage.fs.gate.wait_for(1);
    children.iter().for_each(|child| signal(child, "-TERM"));
    for child in &mut children {
        assert_eq!(end_of(child).signal(), Some(15));
    }
}

#[test]
fn mount_can_be_taken_away_while_a_call_waits() {
    let Some(stage) = Stage::new() else { return };
    let mut child = stage.waiter("exec stat \"$0\"");
    stage.fs.gate.wait_for(1);
    stage.site.mounted.detach().unwrap();
    signal(&child, "-KILL");
    assert_eq!(end_of(&mut child).signal(), Some(9));
    stage.fs.gate.open();
    assert!(stage.site.mounted.wait_for(LONG));
}

#[test]
fn call_that_is_about_to_end_does_not_keep_the_mount_from_being_unmounted() {
    let Some(stage) = Stage::new() else { return };
    let mut child = stage.waiter("exec stat \"$0\"");
    stage.fs.gate.wait_for(1);
    std::thread::scope(|scope| {
        let unmounted = scope.spawn(|| stage.site.mounted.unmount());
        // The call holds the mount, and goes on doing so after the first try to unmount it.
        std::thread::sleep(Duration::from_millis(200));
        stage.fs.gate.open();
        unmounted.join().unwrap().unwrap();
    });
    assert!(stage.site.mounted.wait_for(LONG));
    assert_eq!(end_of(&mut child).code(), Some(1));
}
