//! Files and directories that another client replaces are found by their names again, whatever the caches hold.

use std::time::Duration;

use client::{Caching, Dir, Mount, OpenOptions, Options, Result, Rights, Version, XattrMode};
use vfs::{Context, Detail, Error, FileSystem, Handle, Name, NewNode, OpenMode, Place, SetAttributes};

use crate::real::{Export, VERSIONS};
use crate::remote::Remote;

const CX: Context<'static> = Context::ROOT;
/// Long enough that nothing is asked for because its time is up.
const DAY: Duration = Duration::from_secs(86_400);

fn place(dir: Handle, name: &str) -> Place<'_> {
    Place { dir, name: Name::new(name.as_bytes()).unwrap() }
}

/// A mount whose caches are valid for `time`.
async fn mount(export: &Export, version: Version, time: Duration) -> Mount {
    let caching = Caching { file_min: time, file_max: time, dir_min: time, dir_max: time, ..Caching::default() };
    let options = Options { caching, ..export.options(version) };
    Mount::connect(&export.url(), &options).await.unwrap()
}

/// Makes `dir/file` and a link to it, as another client or the host does, in place of those that are there.
async fn replace(other: &Dir, text: &str) {
    if other.try_exists("dir").await.unwrap() {
        other.rename("dir", other, "old").await.unwrap();
        other.remove_file("old/file").await.unwrap();
        other.remove_file("old/link").await.unwrap();
        other.remove_dir("old").await.unwrap();
    }
    other.create_dir("dir", 0o755).await.unwrap();
    other.write("dir/file", text).await.unwrap();
    other.symlink("file", "dir/link").await.unwrap();
    other.write("new", text).await.unwrap();
    other.rename("new", other, "cfg").await.unwrap();
}

/// Each operation by path after each of its directories was replaced.
async fn use_all(root: &Dir, other: &Dir) -> Result<()> {
    let has_xattrs = root.mount().version() == Version::V4_2;
    for step in 0..if has_xattrs { 11 } else { 10 } {
        let text = format!("text {step}");
        for path in ["cfg", "dir/file", "dir/link"] {
            root.metadata(path).await?;
        }
        replace(other, &text).await;
        match step {
            0 => assert_eq!(root.read("cfg").await?, text.as_bytes()),
            1 => assert_eq!(root.read("dir/file").await?, text.as_bytes()),
            2 => assert_eq!(root.read_link("dir/link").await?, b"file"),
            3 => drop(root.create_dir("dir/below", 0o755).await?.remove_dir("").await),
            4 => root.open("dir/file", &OpenOptions::both()).await?.close().await?,
            5 => root.rename("dir/file", root, "moved").await?,
            6 => {
                let set = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
                assert_eq!(root.set_attributes("dir/file", &set).await?.mode, 0o600);
            }
            7 => assert!(root.access("dir/file", Rights::READ).await?.contains(Rights::READ)),
            8 => root.hard_link("cfg", root, "linked").await?,
            9 => root.remove_file("dir/file").await?,
            _ => root.set_xattr("dir/file", "language", "de", XattrMode::Either).await?,
        }
        for (path, is_dir) in [("dir/below", true), ("moved", false), ("linked", false)] {
            let _ = if is_dir { root.remove_dir(path).await } else { root.remove_file(path).await };
        }
        if !other.try_exists("dir/file").await? {
            other.write("dir/file", text).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn paths_lead_to_what_others_put_in_place_of_a_file_or_a_directory() {
    for version in VERSIONS {
        let export = Export::start();
        let (mine, others) = (mount(&export, version, DAY).await, mount(&export, version, Duration::ZERO).await);
        replace(&others.root_dir(), "first").await;
        use_all(&mine.root_dir(), &others.root_dir()).await.unwrap_or_else(|error| panic!("{version}: {error}"));
        mine.unmount().await.unwrap();
        others.unmount().await.unwrap();
    }
}

/// Walks to a file and does something with it as the kernel does: after a stale handle it walks once more.
fn twice<T>(mut walk: impl FnMut() -> vfs::Result<T>) -> vfs::Result<T> {
    match walk() {
        Err(Error::Stale) => walk(),
        done => done,
    }
}

#[test]
fn second_walk_of_the_kernel_finds_what_others_put_in_place_of_a_file_or_a_directory() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let (files, others) = (&remote.files, remote.again_as(0));
        let other = others.mount().root_dir();
        let find = |path: &[&str]| {
            path.iter()
                .try_fold(files.root(), |dir, name| files.find(&CX, place(dir, name)).map(|found| found.entry.handle))
        };
        let steps: [(&str, &dyn Fn() -> vfs::Result<()>); 7] = [
            ("open", &|| files.open(&CX, &find(&["cfg"])?, OpenMode::Read).map(drop)),
            ("open below", &|| files.open(&CX, &find(&["dir", "file"])?, OpenMode::Write).map(drop)),
            ("attributes", &|| files.attributes(&CX, &find(&["dir", "file"])?).map(drop)),
            ("space", &|| files.space(&CX, &find(&["dir"])?).map(drop)),
            ("link target", &|| files.read_link(&CX, &find(&["dir", "link"])?).map(drop)),
            ("listing", &|| {
                let list = vfs::ReadDir { dir: &find(&["dir"])?, after: 0, detail: Detail::Names };
                files.read_dir(&CX, list, &mut |_| std::ops::ControlFlow::Continue(())).map(drop)
            }),
            ("directory", &|| {
                let node = NewNode::Symlink(b"target");
                files.make_node(&CX, place(find(&["dir"])?, "made"), node, &SetAttributes::default())?;
                files.remove(&CX, place(find(&["dir"])?, "made"))
            }),
        ];
        remote.runtime.block_on(replace(&other, "first"));
        for (what, step) in steps {
            find(&["cfg"]).unwrap();
            find(&["dir", "file"]).unwrap();
            find(&["dir", "link"]).unwrap();
            remote.runtime.block_on(replace(&other, what));
            twice(step).unwrap_or_else(|error| panic!("{version}: {what}: {error}"));
        }
    }
}

#[test]
fn read_past_the_caches_shows_what_others_wrote_and_what_was_written_here() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let (files, others) = (&remote.files, remote.again_as(0));
        remote.runtime.block_on(others.mount().root_dir().write("file", "first")).unwrap();
        let found = files.find(&CX, place(files.root(), "file")).unwrap().entry;
        let open = files.open(&CX, &found.handle, OpenMode::Write).unwrap();
        let read = |cx: &Context<'_>| {
            let mut bytes = [0; 6];
            let count = open.read_at(cx, 0, &mut bytes).unwrap();
            String::from_utf8(bytes[..count].to_vec()).unwrap()
        };
        assert_eq!(read(&CX), "first", "{version}");
        remote.runtime.block_on(others.mount().root_dir().write("file", "other")).unwrap();
        let direct = Context { past_caches: true, ..CX };
        assert_eq!(read(&direct), "other", "{version}");
        open.write_at(&CX, 0, b"mine!", vfs::Stability::Unstable).unwrap();
        assert_eq!(read(&direct), "mine!", "{version}");
    }
}

/// As long as a server has the file open, its handle is valid; its name is another file's all the same.
#[test]
fn second_walk_of_the_kernel_finds_what_replaced_a_file_that_the_server_still_reaches() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let (files, others) = (&remote.files, remote.again_as(0));
        let other = others.mount().root_dir();
        remote.runtime.block_on(other.write("cfg", "first")).unwrap();
        let found = files.find(&CX, place(files.root(), "cfg")).unwrap().entry;
        // This client's own open keeps the file.
        let open = files.open(&CX, &found.handle, OpenMode::Read).unwrap();
        remote.runtime.block_on(async {
            other.write("new", "second").await.unwrap();
            other.rename("new", &other, "cfg").await.unwrap();
        });
        let mut handle = found.handle;
        let read = twice(|| {
            let file = files.open(&CX, &handle, OpenMode::Read).inspect_err(|_| {
                handle = files.lookup(&CX, place(files.root(), "cfg")).unwrap().handle;
            })?;
            let mut bytes = [0; 10];
            let count = file.read_at(&CX, 0, &mut bytes)?;
            Ok(String::from_utf8(bytes[..count].to_vec()).unwrap())
        });
        assert_eq!(read.unwrap(), "second", "{version}");
        drop(open);
    }
}
