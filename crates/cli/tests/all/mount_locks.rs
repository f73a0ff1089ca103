//! Mounts with locks that are not the server's, as the options say.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, fcntl_lock, flock};

use testing::Scratch;
use testing::program::Server;
use testing::program::mounting::{Unmount, can_mount};

/// Two mounts of one export.
struct Two {
    _unmount: [Unmount<PathBuf>; 2],
    dirs: [PathBuf; 2],
    /// What mounting said.
    said: [String; 2],
    _server: Server,
    _scratch: Scratch,
}

impl Two {
    fn new(options: &str) -> Two {
        let scratch = Scratch::new();
        let server = Server::start(1, &["--no-root-squash", "mem:16M"]);
        let dirs = ["one", "other"].map(|name| scratch.dir(name));
        let said = dirs.each_ref().map(|dir| mount(&server, dir, options));
        Two { _unmount: dirs.clone().map(Unmount), dirs, said, _server: server, _scratch: scratch }
    }

    fn open(&self, mount: usize) -> File {
        let path = self.dirs[mount].join("file");
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
    }
}

/// Mounts, and returns what the command said.
fn mount(server: &Server, dir: &Path, options: &str) -> String {
    let options = format!("{options},mountport={}", server.port());
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    let output = command.args(["mount", &server.url("/mem")]).arg(dir).args(["-o", &options]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn locks_of_nfsv4_are_the_servers_with_nolock_too_which_one_warning_says() {
    if !can_mount() {
        return;
    }
    for options in ["vers=4.0,nolock", "vers=4.1,local_lock=all", "vers=4.2,nolock"] {
        let two = Two::new(options);
        for said in &two.said {
            assert_eq!(said.matches("nolock and local_lock are ignored").count(), 1, "{options}: {said}");
        }
        let (one, other) = (two.open(0), two.open(1));
        flock(&one, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err(), "{options}");
        fcntl_lock(&other, FlockOperation::NonBlockingLockExclusive).unwrap_err();
    }
    let two = Two::new("vers=4.2");
    assert!(!two.said[0].contains("ignored"), "{}", two.said[0]);
}

#[test]
fn lock_that_is_local_shows_what_other_mounts_wrote_and_its_release_sends_what_the_holder_wrote() {
    if !can_mount() {
        return;
    }
    for version in ["2", "3"] {
        let two = Two::new(&format!("vers={version},nolock,actimeo=600"));
        let (one, other) = (two.open(0), two.open(1));
        flock(&one, FlockOperation::LockExclusive).unwrap();
        flock(&other, FlockOperation::NonBlockingLockExclusive).unwrap();
        flock(&other, FlockOperation::Unlock).unwrap();
        for (round, data) in (0..).zip(["first", "longer", "other."]) {
            fcntl_lock(&one, FlockOperation::LockExclusive).unwrap();
            one.write_all_at(data.as_bytes(), 0).unwrap();
            fcntl_lock(&one, FlockOperation::Unlock).unwrap();
            fcntl_lock(&other, FlockOperation::LockShared).unwrap();
            let mut found = vec![0; data.len()];
            other.read_exact_at(&mut found, 0).unwrap();
            assert_eq!(found, data.as_bytes(), "NFSv{version}, round {round}");
            assert_eq!(other.metadata().unwrap().len(), data.len() as u64, "NFSv{version}, round {round}");
            fcntl_lock(&other, FlockOperation::Unlock).unwrap();
        }
    }
}

/// Whether this process has CAP_SYS_RESOURCE, capability 24.
fn may_protect_processes() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(set.trim(), 16).unwrap() & 1 << 24 != 0
}

#[test]
fn process_of_a_mount_is_spared_when_memory_runs_out() {
    if !can_mount() {
        return;
    }
    if !may_protect_processes() {
        println!("skipped: this process has no CAP_SYS_RESOURCE");
        return;
    }
    let two = Two::new("vers=4.2");
    let of_mount = |dir: &PathBuf| {
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
        let is_it = |process: &PathBuf| {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == dir.as_os_str().as_encoded_bytes())
        };
        processes.filter(is_it).map(|process| fs::read_to_string(process.join("oom_score_adj")).unwrap()).next()
    };
    assert_eq!(two.dirs.each_ref().map(of_mount), [Some("-1000\n".to_owned()), Some("-1000\n".to_owned())]);
}
