//! Many threads at once on one tree through the client as a file system, in every version: what is there at the end is
//! what each did.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use client::RemoteFs;
use vfs::{
    Context, CreateMode, Detail, Error, FileLock, FileSystem, Handle, LockOutcome, LockOwner, Name, NewNode, OpenMode,
    Place, SetAttributes, Stability,
};

use crate::remote::script::list;
use crate::remote::{Remote, VERSIONS};
use testing::Random;

const CX: Context<'static> = Context::ROOT;
const THREADS: u64 = 6;
const DIRS: u64 = 3;
const STEPS: usize = 60;
/// How often each thread counts one further in the file that all share.
const COUNTS: u64 = 5;
const ALL: FileLock = FileLock { first_bytes: 0, last_bytes: u64::MAX, exclusive: true };

fn place(dir: Handle, name: &str) -> Place<'_> {
    Place { dir, name: Name::new(name.as_bytes()).unwrap() }
}

/// Where a file is: the number of its directory, and its name.
type Spot = (u64, String);

/// A thread's own files in directories that all share.
struct Actor<'f> {
    files: &'f RemoteFs,
    number: u64,
    random: Random,
    model: BTreeMap<Spot, Vec<u8>>,
}

impl Actor<'_> {
    fn dir(&self, number: u64) -> Handle {
        self.files.lookup(&CX, place(self.files.root(), &format!("dir{number}"))).unwrap().handle
    }

    fn spot(&mut self) -> Spot {
        (self.random.below(DIRS), format!("file-{}-{}", self.number, self.random.below(8)))
    }

    fn run(mut self) -> BTreeMap<Spot, Vec<u8>> {
        for step in 0..STEPS {
            let spot = self.spot();
            match (self.random.below(10), self.model.contains_key(&spot)) {
                (0..4, false) => self.create(spot),
                (0..4, true) => self.write(&spot),
                (4..6, true) => self.rename(&spot),
                (6, true) => self.remove(&spot),
                (7, _) => self.see_all(spot.0),
                (_, true) => self.read(&spot),
                _ => {}
            }
            if step % (STEPS / COUNTS as usize) == 0 {
                self.count();
            }
        }
        self.model
    }

    fn create(&mut self, spot: Spot) {
        let place = place(self.dir(spot.0), &spot.1);
        let created = self.files.create(&CX, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
        assert_eq!(created.attributes.size_bytes, 0);
        self.model.insert(spot, Vec::new());
    }

    fn write(&mut self, spot: &Spot) {
        let handle = self.find(spot);
        let open = self.files.open(&CX, &handle, OpenMode::Write).unwrap();
        let (at, count) = (self.random.below(20_000) as usize, 1 + self.random.below(5000) as usize);
        let (data, stability) =
            (self.random.bytes(count), self.random.of(&[Stability::Unstable, Stability::Unstable, Stability::File]));
        open.write_at(&CX, at as u64, &data, stability).unwrap();
        let model = self.model.get_mut(spot).unwrap();
        model.resize(model.len().max(at + data.len()), 0);
        model[at..at + data.len()].copy_from_slice(&data);
    }

    fn rename(&mut self, from: &Spot) {
        let to = self.spot();
        let (from_dir, to_dir) = (self.dir(from.0), self.dir(to.0));
        self.files.rename(&CX, place(from_dir, &from.1), place(to_dir, &to.1)).unwrap();
        let moved = self.model.remove(from).unwrap();
        self.model.insert(to, moved);
    }

    fn remove(&mut self, spot: &Spot) {
        self.files.remove(&CX, place(self.dir(spot.0), &spot.1)).unwrap();
        self.model.remove(spot);
    }

    fn read(&self, spot: &Spot) {
        assert!(read_all(self.files, &self.find(spot)) == self.model[spot], "{spot:?}");
    }

    fn find(&self, (dir, name): &Spot) -> Handle {
        self.files.lookup(&CX, place(self.dir(*dir), name)).unwrap().handle
    }

    /// A listing has all own files, whatever others do meanwhile.
    fn see_all(&self, dir: u64) {
        let listed = list(self.files, &self.dir(dir), Detail::Names).unwrap();
        for (_, name) in self.model.keys().filter(|(of, _)| *of == dir) {
            assert_eq!(listed.iter().filter(|listed| *listed == name.as_bytes()).count(), 1, "{name} in {dir}");
        }
    }

    /// Counts one further under a lock.
    fn count(&self) {
        let handle = self.files.lookup(&CX, place(self.files.root(), "count")).unwrap().handle;
        let open = self.files.open(&CX, &handle, OpenMode::Write).unwrap();
        let owner = LockOwner(self.number);
        while open.lock(&CX, owner, ALL).unwrap() != LockOutcome::Free {
            thread::sleep(Duration::from_millis(2));
        }
        let mut bytes = [0; 8];
        open.read_at(&CX, 0, &mut bytes).unwrap();
        let next = u64::from_be_bytes(bytes) + 1;
        open.write_at(&CX, 0, &next.to_be_bytes(), Stability::Unstable).unwrap();
        open.sync(&CX).unwrap();
        open.unlock(&CX, owner, 0..=u64::MAX).unwrap();
    }
}

fn read_all(files: &RemoteFs, handle: &Handle) -> Vec<u8> {
    let open = files.open(&CX, handle, OpenMode::Read).unwrap();
    let mut bytes = vec![0; 32_768];
    let mut done = 0;
    loop {
        match open.read_at(&CX, done as u64, &mut bytes[done..]).unwrap() {
            0 => break,
            count => done += count,
        }
    }
    bytes.truncate(done);
    bytes
}

#[test]
fn threads_that_share_a_tree_leave_what_each_of_them_did() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        for number in 0..DIRS {
            let name = format!("dir{number}");
            files.make_node(&CX, place(files.root(), &name), NewNode::Directory, &SetAttributes::default()).unwrap();
        }
        let count = files.create(&CX, place(files.root(), "count"), CreateMode::Guarded, &SetAttributes::default());
        let count = count.unwrap().handle;
        files.open(&CX, &count, OpenMode::Write).unwrap().write_at(&CX, 0, &[0; 8], Stability::File).unwrap();

        let mut expected = BTreeMap::new();
        thread::scope(|scope| {
            let start = |number| {
                let random = Random(0x5eed + number);
                let actor = Actor { files, number, random, model: BTreeMap::new() };
                scope.spawn(move || actor.run())
            };
            let actors: Vec<_> = (0..THREADS).map(start).collect();
            actors.into_iter().for_each(|actor| expected.extend(actor.join().unwrap()));
        });

        // Another client sees the same, after everything was closed here.
        let other = remote.again_as(0);
        let mut found = BTreeMap::new();
        for dir in 0..DIRS {
            let handle = other.lookup(&CX, place(other.root(), &format!("dir{dir}"))).unwrap().handle;
            for name in list(&other, &handle, Detail::Names).unwrap() {
                let name = String::from_utf8(name).unwrap();
                let file = other.lookup(&CX, place(handle, &name)).unwrap().handle;
                found.insert((dir, name), read_all(&other, &file));
            }
        }
        assert!(found == expected, "{version}: {:?} and {:?}", found.keys(), expected.keys());
        let handle = other.lookup(&CX, place(other.root(), "count")).unwrap().handle;
        assert_eq!(read_all(&other, &handle), (THREADS * COUNTS).to_be_bytes(), "{version}");
    }
}

/// How often each thread does something to one of the names that all fight for.
const FIGHTS: usize = 150;

/// What programs do to a few names at once, each as the kernel does it: a walk that meets a stale handle is made again.
fn fight(files: &RemoteFs, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..FIGHTS {
        let (name, other) = (format!("name{}", random.below(2)), format!("name{}", random.below(2)));
        let at = place(files.root(), &name);
        let step = random.below(4);
        let walk = || match step {
            0 => files.remove(&CX, at),
            1 => files.rename(&CX, at, place(files.root(), &other)),
            2 => {
                let made = files.create(&CX, at, CreateMode::Unchecked, &SetAttributes::default())?;
                let open = files.open(&CX, &made.handle, OpenMode::Write)?;
                open.write_at(&CX, 0, &[1; 100], Stability::Unstable)?;
                open.sync(&CX)
            }
            _ => {
                let found = files.find(&CX, at)?.entry;
                let open = files.open(&CX, &found.handle, OpenMode::Read)?;
                for _ in 0..3 {
                    open.read_at(&CX, 0, &mut [0; 100]).expect("an open file stays readable");
                    thread::yield_now();
                }
                Ok(())
            }
        };
        // A name may lead to another file at each walk.
        let mut walked = walk();
        for _ in 0..10 {
            walked = if matches!(walked, Err(Error::Stale)) { walk() } else { break };
        }
        assert!(matches!(walked, Ok(()) | Err(Error::NoEntry)), "step {step}: {walked:?}");
    }
}

#[test]
fn threads_that_open_remove_and_rename_the_same_names_lose_no_open_file() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        thread::scope(|scope| {
            for number in 0..THREADS {
                let files = &remote.files;
                scope.spawn(move || fight(files, number));
            }
        });
        let files = &remote.files;
        files.maintain();
        files.maintain();
        let left = list(files, &files.root(), Detail::Names).unwrap();
        assert!(left.iter().all(|name| name.starts_with(b"name")), "{version}: {left:?}");
    }
}
