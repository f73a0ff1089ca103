//! What of the client library no command uses, against the real server.

use client::{Mount, OpenOptions, Options, Reason, Rights, SpecialFile, Version};
use vfs::{CreateMode, Device, FileKind, SetAttributes, Stability};

use testing::Scratch;
use testing::program::Server;

/// Mounts the only export and does `work` with it, in each version.
fn in_each_version<F: Future<Output = ()>>(work: impl Fn(Mount, Version) -> F) {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let url = server.url("/mem").parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for version in [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2] {
        let options = Options { version, ..Options::default() };
        runtime.block_on(async { work(Mount::connect(&url, &options).await.unwrap(), version).await });
    }
}

fn name(text: &str, version: Version) -> Vec<u8> {
    format!("{text}-{version}").into_bytes()
}

#[test]
fn rights_space_and_limits_are_told() {
    in_each_version(|mount, version| async move {
        let root = mount.root().handle;
        mount.null().await.unwrap();
        let rights = mount.access(&root, Rights::ALL).await.unwrap();
        assert!(rights.contains(Rights::LOOKUP | Rights::MODIFY), "{rights:?}");
        assert_eq!(mount.fsstat(&root).await.unwrap().total_bytes, 64 << 20);
        assert!(mount.fsinfo(&root).await.unwrap().has_symlinks);
        match (version, mount.pathconf(&root).await) {
            (Version::V2, refused) => {
                assert!(matches!(refused.unwrap_err().reason(), Reason::NotInVersion(Version::V2)))
            }
            (_, limits) => assert_eq!(limits.unwrap().max_name_bytes, 255),
        }
    });
}

#[test]
fn special_files_are_made() {
    in_each_version(|mount, version| async move {
        let root = mount.root().handle;
        let device = Device { major: 8, minor: 300 };
        for (what, kind, text) in [
            (SpecialFile::Fifo, FileKind::Fifo, "fifo"),
            (SpecialFile::Socket, FileKind::Socket, "socket"),
            (SpecialFile::BlockDevice(device), FileKind::BlockDevice, "block"),
            (SpecialFile::CharDevice(device), FileKind::CharDevice, "char"),
        ] {
            let set = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
            let made = mount.mknod(&root, &name(text, version), what, &set).await.unwrap().attributes;
            assert_eq!((made.kind, made.mode), (kind, 0o600), "{text}");
            if matches!(what, SpecialFile::BlockDevice(_) | SpecialFile::CharDevice(_)) {
                assert_eq!(made.device, device, "{text}");
            }
        }
    });
}

#[test]
fn exclusive_create_unstable_write_and_commit_go_together() {
    in_each_version(|mount, version| async move {
        let root = mount.root().handle;
        let mode = match version {
            Version::V2 => CreateMode::Guarded,
            _ => CreateMode::Exclusive(*b"verifier"),
        };
        let set = SetAttributes::default();
        let file = mount.create(&root, &name("file", version), mode, &set).await.unwrap().handle;
        let written = mount.write(&file, 3, "data".into(), Stability::Unstable).await.unwrap();
        assert_eq!(written.count, 4);
        assert_eq!(mount.commit(&file, 0, 0).await.unwrap(), written.verifier);
        assert_eq!(mount.read(&file, 0, 100).await.unwrap().bytes.as_ref(), b"\0\0\0data");
        let set = SetAttributes { size_bytes: Some(5), ..SetAttributes::default() };
        assert_eq!(mount.setattr(&file, &set).await.unwrap().size_bytes, 5);
    });
}

#[test]
fn file_of_a_directory_is_believed_until_a_local_process_writes_to_it() {
    let scratch = Scratch::new();
    let (dir, state) = (scratch.dir("export"), scratch.path("state"));
    let file = scratch.file("export/file", "before");
    let (dir, state) = (dir.to_str().unwrap(), state.to_str().unwrap());
    let server = Server::start(1, &["--no-root-squash", "--state-dir", state, dir]);
    let url = server.url(dir).parse().unwrap();
    let options = Options { version: Version::V4_2, ..Options::default() };
    // The server must be able to call while a local writer waits on the test's own thread.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mount = runtime.block_on(Mount::connect(&url, &options)).unwrap();
    let (root, reading) = (mount.root().handle, OpenOptions::read());
    let first = runtime.block_on(mount.open(&root, b"file", &reading)).unwrap();
    let text = || runtime.block_on(async { first.read(0, 100).await.unwrap().bytes.to_vec() });
    assert_eq!(text(), b"before");
    let calls = mount.counters().calls;
    runtime.block_on(mount.open_handle(first.handle(), &reading)).unwrap();
    let opened_size = runtime.block_on(mount.attributes_at_open(first.handle())).unwrap().size_bytes;
    assert_eq!((opened_size, mount.counters().calls - calls), (6, 0), "it is delegated");
    std::fs::write(file, "after").unwrap();
    assert_eq!(text(), b"after");
    assert_eq!(runtime.block_on(mount.attributes_at_open(first.handle())).unwrap().size_bytes, 5);
}
