//! What the library's types promise to applications: that they can be shared between tasks, that files are what tokio
//! reads and writes, and directories streams.

use std::fmt::Debug;
use std::io::{self, ErrorKind, SeekFrom};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use client::copy::{CopyError, CopyOptions, Summary};
use client::{
    Caching, Connection, Copying, Cursor, Detail, Dir, Entries, Error, File, Follow, Handle, LockKind, Meter, Mount,
    OpenOptions, Options, Reason, RemoteFs, Segments, SetAttributes, SetTime, Statistics, Timestamp, Url, Version,
};
use futures_util::TryStreamExt;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufWriter};

use crate::real::Export;

const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];

fn goes_anywhere<T: Send + Sync + Debug + 'static>() {}

#[test]
fn types_can_be_sent_shared_kept_and_printed() {
    goes_anywhere::<(Mount, Dir, File, Entries, RemoteFs, Connection, Meter)>();
    goes_anywhere::<(Options, Caching, Url, OpenOptions, CopyOptions, Handle)>();
    goes_anywhere::<(Error, CopyError, Summary, Statistics, Segments, Copying)>();
}

/// Never called: that it compiles says it.
#[allow(dead_code, reason = "the compiler is the test")]
fn futures_can_be_spawned(mount: &Mount, dir: &Dir, file: &File) {
    fn spawned<T: Future + Send>(_: T) {}
    fn sent<T: Send>() {}
    let mut buffer = [0; 10];
    spawned(mount.walk(b"path", Follow::Links));
    spawned(dir.open("path", &OpenOptions::read()));
    spawned(dir.metadata("path"));
    spawned(dir.rename("path", dir, "other"));
    spawned(file.read_at(0, &mut buffer));
    spawned(file.write_at(0, b"data"));
    spawned(file.lock(LockKind::Shared, 0, 1));
    spawned(file.sync());
    spawned(client::copy::upload(mount, "from".as_ref(), b"to", &CopyOptions::default()));
    sent::<(Cursor, Copying)>();
}

async fn open(dir: &Dir, name: &str) -> Arc<File> {
    Arc::new(dir.open(name, &OpenOptions::both().making(0o644)).await.unwrap())
}

#[tokio::test]
async fn cursor_reads_writes_and_seeks_as_tokio_has_it() {
    let export = Export::start();
    for version in VERSIONS {
        let root = export.mount(version).await.root_dir();
        let file = open(&root, &format!("file-{version}")).await;
        let data: Vec<u8> = (0..3_000_000u32).map(|place| (place % 251) as u8).collect();
        let mut writer = BufWriter::new(Cursor::new(Arc::clone(&file)));
        writer.write_all(&data).await.unwrap();
        writer.shutdown().await.unwrap();
        assert_eq!(file.getattr().await.unwrap().size_bytes, data.len() as u64, "{version}");

        let (mut cursor, mut read) = (Cursor::new(Arc::clone(&file)), Vec::new());
        cursor.read_to_end(&mut read).await.unwrap();
        assert!(read == data, "{version}");
        assert_eq!(cursor.seek(SeekFrom::End(-5)).await.unwrap(), data.len() as u64 - 5);
        cursor.write_all(b"the end").await.unwrap();
        assert_eq!(cursor.seek(SeekFrom::Current(-10)).await.unwrap(), data.len() as u64 - 8);
        let mut end = [0; 10];
        assert_eq!(cursor.read_exact(&mut end).await.unwrap(), 10);
        assert_eq!((&end[..3], &end[3..]), (&data[data.len() - 8..][..3], &b"the end"[..]), "{version}");
        assert_eq!(cursor.read(&mut end).await.unwrap(), 0, "{version}: the end");
        let before_all = cursor.seek(SeekFrom::Current(-1 << 40)).await.unwrap_err();
        assert_eq!(before_all.kind(), ErrorKind::InvalidInput);
        assert_eq!(cursor.position(), data.len() as u64 + 2, "{version}");
    }
}

/// Polls a future once and drops it.
async fn abandon(work: impl Future) {
    let mut work = pin!(work);
    std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx).is_ready())).await;
}

#[tokio::test]
async fn cursor_of_one_who_went_away_is_where_it_was() {
    let export = Export::start();
    for version in VERSIONS {
        let options = Options { caching: Caching { is_direct: true, ..Caching::default() }, ..export.options(version) };
        let root = Mount::connect(&export.url(), &options).await.unwrap().root_dir();
        let file = open(&root, &format!("file-{version}")).await;
        file.write_at(0, b"abcdef").await.unwrap();
        let (mut cursor, mut buffer) = (Cursor::new(Arc::clone(&file)), [0; 2]);
        abandon(cursor.read(&mut buffer)).await;
        cursor.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"ab", "{version}: what was read for nobody is read by the next");
        abandon(cursor.read(&mut buffer)).await;
        cursor.seek(SeekFrom::Start(4)).await.unwrap();
        cursor.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"ef", "{version}");
        abandon(cursor.seek(SeekFrom::End(-1))).await;
        cursor.seek(SeekFrom::Start(0)).await.unwrap();
        cursor.write_all(b"AB").await.unwrap();
        abandon(cursor.flush()).await;
        cursor.write_all(b"CD").await.unwrap();
        cursor.flush().await.unwrap();
        let mut all = [0; 6];
        assert_eq!(file.read_at(0, &mut all).await.unwrap(), 6);
        assert_eq!(&all, b"ABCDef", "{version}");
    }
}

#[tokio::test]
async fn listing_is_a_stream_that_outlives_its_directory() {
    let export = Export::start();
    let root = export.mount(Version::V4_2).await.root_dir();
    for name in ["a", "b", "c"] {
        root.create_dir(name, 0o755).await.unwrap();
    }
    let entries = root.read_dir(Detail::Entries).into_stream();
    drop(root);
    let mut names: Vec<_> = tokio::spawn(entries.map_ok(|entry| entry.name).try_collect()).await.unwrap().unwrap();
    names.sort();
    assert_eq!(names, [b"a", b"b", b"c"].map(|name: &[u8; 1]| Box::from(&name[..])));
}

#[tokio::test]
async fn errors_are_those_of_the_standard_library_where_they_are_wanted() {
    async fn size(dir: &Dir, path: &str) -> io::Result<u64> {
        Ok(dir.metadata(path).await?.size_bytes)
    }
    let export = Export::start();
    let root = export.mount(Version::V3).await.root_dir();
    let error = size(&root, "no/such").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().starts_with("no/such: "), "{error}");
}

#[tokio::test]
async fn time_that_a_version_does_not_have_is_refused_and_nothing_is_changed() {
    let export = Export::start();
    for version in [Version::V2, Version::V3] {
        let root = export.mount(version).await.root_dir();
        open(&root, "file").await;
        let before = root.metadata("file").await.unwrap();
        for seconds in [-1, i64::from(u32::MAX) + 1] {
            let modified = Some(SetTime::To(Timestamp { seconds, nanoseconds: 0 }));
            let set = SetAttributes { mode: Some(0o600), modified, ..SetAttributes::default() };
            let refused = root.set_attributes("file", &set).await.unwrap_err();
            assert!(matches!(refused.reason(), Reason::TimeOutOfRange { .. }), "{version}: {refused}");
            assert_eq!(io::Error::from(refused).kind(), ErrorKind::InvalidInput);
        }
        assert_eq!(root.metadata("file").await.unwrap(), before, "{version}");
    }
}
