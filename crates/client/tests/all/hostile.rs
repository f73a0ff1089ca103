//! A mount of a server that lies, is busy, forgets, or does less than it could.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use client::copy::{CopyOptions, upload};
use client::{Detail, Follow, Handle, Lie, Mount, Options, Reason, Status, Url};
use proto::mount;
use proto::nfs3::{self, FileType, PostOpAttr, Res};

use crate::fake::{self, Answer, FILE, ROOT, basics, fattr, handle, options, results, serve};

type Failed<T> = Res<T, PostOpAttr>;

fn file() -> Handle {
    Handle::new(FILE).unwrap()
}

fn read_reply(count: u32, data: &[u8], eof: bool) -> Answer {
    let head = nfs3::ReadHead { attributes: None, count, eof };
    results(Failed::Ok(nfs3::ReadOk { head, data }))
}

async fn read_of(count: u32, data: &'static [u8], eof: bool) -> client::Result<client::Data> {
    let mount = fake::mount(move |question| question.is::<nfs3::Read>().then(|| read_reply(count, data, eof))).await;
    mount.read(&file(), 0, 4).await
}

#[tokio::test]
async fn read_that_brings_more_than_was_asked_for_is_refused() {
    let error = read_of(5, b"12345", true).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::TooMuchData { asked: 4, got: 5 })), "{error}");
}

#[tokio::test]
async fn read_whose_count_is_not_that_of_its_data_is_refused() {
    let error = read_of(4, b"12", true).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::WrongCount { said: 4, got: 2 })), "{error}");
}

#[tokio::test]
async fn read_of_nothing_before_the_end_is_refused() {
    let error = read_of(0, b"", false).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::NoData)), "{error}");
}

fn dir_entry(name: &[u8], cookie: u64) -> nfs3::DirEntryPlus<'_> {
    let entry = nfs3::DirEntry { fileid: cookie, name, cookie };
    nfs3::DirEntryPlus { entry, attributes: None, handle: None }
}

fn names_page(entries: &[(&[u8], u64)], eof: bool) -> Answer {
    let head = nfs3::ReaddirHead { dir_attributes: None, verifier: [1; 8] };
    let entries = entries.iter().map(|(name, cookie)| dir_entry(name, *cookie).entry).collect();
    results(Failed::Ok(nfs3::ReaddirOk { head, entries, eof }))
}

async fn list(mount: &Mount) -> client::Result<Vec<Vec<u8>>> {
    let mut listing = mount.read_dir(&mount.root().handle, Detail::Names);
    let mut names = Vec::new();
    while let Some(entry) = listing.next().await? {
        names.push(entry.name.to_vec());
    }
    Ok(names)
}

/// A server that forgets where a listing was, that many times, when it comes to the second page.
async fn forgetful(times: u32) -> Mount {
    let forgotten = AtomicU32::new(0);
    fake::mount(move |question| {
        question.is::<nfs3::Readdir>().then(|| match question.arguments::<nfs3::Readdir>().cookie {
            0 if forgotten.load(Ordering::Relaxed) == 0 => names_page(&[(b"a", 1), (b"b", 2)], false),
            0 => names_page(&[(b"new", 7), (b"b", 8)], false),
            8 => names_page(&[(b"a", 9), (b"c", 10)], true),
            _ if forgotten.fetch_add(1, Ordering::Relaxed) < times => {
                results(Failed::<nfs3::ReaddirOk<'_>>::Fail(nfs3::Status::BadCookie, None))
            }
            _ => names_page(&[(b"c", 3)], true),
        })
    })
    .await
}

async fn list_dir(mount: &Mount) -> client::Result<Vec<Vec<u8>>> {
    let dir = mount.root_dir();
    let (mut listing, mut names) = (dir.read_dir(Detail::Names), Vec::new());
    while let Some(entry) = listing.next().await? {
        names.push(entry.name.to_vec());
    }
    Ok(names)
}

#[tokio::test]
async fn listing_whose_place_the_server_forgot_begins_again_without_repeating_names() {
    assert_eq!(list_dir(&forgetful(0).await).await.unwrap(), [b"a", b"b", b"c"]);
    let once = list_dir(&forgetful(1).await).await.unwrap();
    assert_eq!(once, [&b"a"[..], b"b", b"new", b"c"]);
}

#[tokio::test]
async fn listing_whose_place_is_forgotten_again_and_again_fails() {
    let mount = fake::mount(|question| {
        question.is::<nfs3::Readdir>().then(|| match question.arguments::<nfs3::Readdir>().cookie {
            0 => names_page(&[(b"a", 1)], false),
            _ => results(Failed::<nfs3::ReaddirOk<'_>>::Fail(nfs3::Status::BadCookie, None)),
        })
    })
    .await;
    assert_eq!(list_dir(&mount).await.unwrap_err().status(), Some(Status::BadCookie));
}

#[tokio::test]
async fn directory_whose_cookies_go_round_in_a_circle_ends_with_an_error() {
    let mount = fake::mount(|question| {
        question.is::<nfs3::Readdir>().then(|| {
            let next = question.arguments::<nfs3::Readdir>().cookie % 7 + 1;
            names_page(&[(b"again", next)], false)
        })
    })
    .await;
    let error = list(&mount).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::CookieLoop)), "{error}");
}

#[tokio::test]
async fn directory_without_end_stops_at_the_limit() {
    let address = serve(|question| match question.is::<nfs3::Readdir>() {
        true => names_page(&[(b"more", question.arguments::<nfs3::Readdir>().cookie + 1)], false),
        false => basics(question),
    })
    .await;
    let url: Url = format!("nfs://{address}/export").parse().unwrap();
    let mount = Mount::connect(&url, &Options { max_dir_entries: 100, ..options() }).await.unwrap();
    let error = list(&mount).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::TooManyEntries(100))), "{error}");
}

#[tokio::test]
async fn name_with_a_slash_never_reaches_the_caller() {
    let mount = fake::mount(|question| {
        question.is::<nfs3::Readdir>().then(|| names_page(&[(b"good", 1), (b"../../evil", 2)], true))
    })
    .await;
    let error = list(&mount).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::BadName(_))), "{error}");
}

#[tokio::test]
async fn server_without_readdirplus_is_listed_by_readdir_and_lookup() {
    let mount = fake::mount(|question| {
        if question.is::<nfs3::Readdirplus>() {
            return Some(results(Failed::<()>::Fail(nfs3::Status::NotSupp, None)));
        }
        if question.is::<nfs3::Readdir>() {
            return Some(names_page(&[(b".", 1), (b"file", 2), (b"gone", 3)], true));
        }
        question.is::<nfs3::Lookup>().then(|| match question.arguments::<nfs3::Lookup>().what.name {
            b"file" => {
                let attributes = Some(fattr(FileType::Regular, 5));
                results(Failed::Ok(nfs3::LookupOk { object: handle(FILE), attributes, dir_attributes: None }))
            }
            _ => results(Failed::<()>::Fail(nfs3::Status::NoEnt, None)),
        })
    })
    .await;
    let mut listing = mount.read_dir(&mount.root().handle, Detail::Entries);
    let first = listing.next().await.unwrap().unwrap();
    assert_eq!((&*first.name, first.entry.unwrap().attributes.size_bytes), (&b"file"[..], 5));
    let second = listing.next().await.unwrap().unwrap();
    assert_eq!((&*second.name, second.entry), (&b"gone"[..], None));
    assert!(listing.next().await.unwrap().is_none());
}

#[tokio::test]
async fn server_that_asks_to_try_later_is_asked_again() {
    let turn = AtomicU32::new(0);
    let mount = fake::mount(move |question| {
        question.is::<nfs3::Read>().then(|| match turn.fetch_add(1, Ordering::Relaxed) {
            0 => results(Failed::<()>::Fail(nfs3::Status::Jukebox, None)),
            _ => read_reply(2, b"ok", true),
        })
    })
    .await;
    assert_eq!(mount.read(&file(), 0, 4).await.unwrap().bytes, b"ok"[..]);
}

#[tokio::test]
async fn status_reaches_the_caller_with_operation_and_file() {
    let mount = fake::mount(|question| {
        question.is::<nfs3::Lookup>().then(|| results(Failed::<()>::Fail(nfs3::Status::Acces, None)))
    })
    .await;
    let error = mount.walk(b"some/file", Follow::Links).await.unwrap_err();
    assert_eq!((error.status(), error.operation()), (Some(Status::AccessDenied), "LOOKUP"));
    assert_eq!(error.to_string(), "some/file: permission denied (LOOKUP, server 127.0.0.1)");
}

#[tokio::test]
async fn symbolic_links_in_a_circle_end_with_an_error() {
    let mount = fake::mount(|question| {
        if question.is::<nfs3::Lookup>() {
            let attributes = Some(fattr(FileType::Symlink, 4));
            return Some(results(Failed::Ok(nfs3::LookupOk {
                object: handle(FILE),
                attributes,
                dir_attributes: None,
            })));
        }
        let target = &b"loop"[..];
        question.is::<nfs3::Readlink>().then(|| results(Failed::Ok(nfs3::ReadlinkOk { attributes: None, target })))
    })
    .await;
    let error = mount.walk(b"loop", Follow::Links).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Path(client::PathError::TooManyLinks(_))), "{error}");
    assert_eq!(mount.walk(b"loop", Follow::Nothing).await.unwrap().handle, file());
}

#[tokio::test]
async fn path_of_the_url_is_split_where_the_export_ends() {
    let address = serve(basics).await;
    for (path, below) in [("/export", ""), ("/export/a/b", "a/b"), ("/export//a/", "a")] {
        let url: Url = format!("nfs://{address}{path}").parse().unwrap();
        let mount = Mount::connect(&url, &options()).await.unwrap();
        assert_eq!((mount.export(), mount.path_below()), (&b"/export"[..], below.as_bytes()), "{path}");
        assert_eq!(mount.root().handle.as_bytes(), ROOT);
    }
    let error = Mount::connect(&format!("nfs://{address}/exports").parse().unwrap(), &options()).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::NoExport(none) if none.exports == [b"/export"]), "{error}");
}

#[tokio::test]
async fn server_that_mounts_files_is_mounted_at_their_directory() {
    let address = serve(|question| {
        if question.is::<mount::Export<3>>() {
            return results(mount::ExportReply { exports: Vec::new() });
        }
        if question.is::<mount::Mnt3>() && question.arguments::<mount::Mnt3>().path == b"/export/file" {
            return results(mount::Mnt3Reply::Ok(mount::Mnt3Ok { handle: handle(FILE), flavors: vec![1] }));
        }
        if question.is::<nfs3::Getattr>() && question.arguments::<nfs3::Getattr>().object == handle(FILE) {
            let attributes = fattr(FileType::Regular, 4096);
            return results(Res::<_, ()>::Ok(nfs3::GetattrOk { attributes }));
        }
        basics(question)
    });
    let url: Url = format!("nfs://{}/export/file", address.await).parse().unwrap();
    let mount = Mount::connect(&url, &options()).await.unwrap();
    assert_eq!((mount.export(), mount.path_below()), (&b"/export"[..], &b"file"[..]));
    assert_eq!(mount.root().handle.as_bytes(), ROOT);
}

/// A server with one file that loses what is unstable once, and writes at most 1000 bytes at a time.
struct Forgetful {
    stable: Vec<u8>,
    unstable: Vec<u8>,
    verifier: u8,
    losses_left: u32,
}

impl Forgetful {
    fn write(&mut self, arguments: &nfs3::WriteArgs<'_>) -> Answer {
        let count = arguments.data.len().min(1000);
        let end = arguments.offset as usize + count;
        self.unstable.resize(self.unstable.len().max(end), 0);
        self.unstable[arguments.offset as usize..end].copy_from_slice(&arguments.data[..count]);
        let file_wcc = nfs3::WccData::default();
        let (count, committed) = (count as u32, nfs3::StableHow::Unstable);
        let ok = nfs3::WriteOk { file_wcc, count, committed, verifier: [self.verifier; 8] };
        results(Res::<_, nfs3::WccData>::Ok(ok))
    }

    fn commit(&mut self) -> Answer {
        if self.losses_left > 0 {
            (self.losses_left, self.verifier) = (self.losses_left - 1, self.verifier + 1);
            self.unstable.clear();
        }
        self.stable.clone_from(&self.unstable);
        let ok = nfs3::CommitOk { file_wcc: nfs3::WccData::default(), verifier: [self.verifier; 8] };
        results(Res::<_, nfs3::WccData>::Ok(ok))
    }
}

async fn forgetful_mount(losses: u32) -> (Mount, Arc<Mutex<Forgetful>>) {
    let state = Forgetful { stable: Vec::new(), unstable: Vec::new(), verifier: 1, losses_left: losses };
    let state = Arc::new(Mutex::new(state));
    let server = Arc::clone(&state);
    let mount = fake::mount(move |question| {
        let mut server = server.lock().unwrap();
        if question.is::<nfs3::Create>() {
            let (object, attributes) = (Some(handle(FILE)), Some(fattr(FileType::Regular, 0)));
            let ok = nfs3::CreateOk { object, attributes, dir_wcc: nfs3::WccData::default() };
            return Some(results(Res::<_, nfs3::WccData>::Ok(ok)));
        }
        if question.is::<nfs3::Setattr>() {
            return Some(results(Res::<_, nfs3::WccData>::Ok(nfs3::WccData::default())));
        }
        if question.is::<nfs3::Write>() {
            return Some(server.write(&question.arguments::<nfs3::Write>()));
        }
        question.is::<nfs3::Commit>().then(|| server.commit())
    })
    .await;
    (mount, state)
}

fn local_file(bytes: &[u8]) -> std::path::PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("wharf-hostile-{}-{number}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[tokio::test]
async fn data_that_the_server_lost_is_written_again_and_short_writes_are_completed() {
    let bytes: Vec<u8> = (0..50_001u32).map(|n| (n * 7 % 251) as u8).collect();
    let path = local_file(&bytes);
    let (mount, server) = forgetful_mount(2).await;
    let summary = upload(&mount, &path, b"copy", &CopyOptions::default()).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((summary.files, summary.bytes), (1, 50_001));
    let server = server.lock().unwrap();
    assert_eq!(server.verifier, 3, "two losses");
    assert!(server.stable == bytes);
}

#[tokio::test]
async fn server_that_always_forgets_is_given_up() {
    let path = local_file(&[1; 10_000]);
    let (mount, _) = forgetful_mount(u32::MAX).await;
    let error = upload(&mount, &path, b"copy", &CopyOptions::default()).await.unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(error, client::copy::CopyError::Lost { .. }), "{error}");
}

#[tokio::test]
async fn write_that_claims_more_than_it_was_given_is_refused() {
    let mount = fake::mount(|question| {
        question.is::<nfs3::Write>().then(|| {
            let file_wcc = nfs3::WccData::default();
            let committed = nfs3::StableHow::FileSync;
            results(Res::<_, nfs3::WccData>::Ok(nfs3::WriteOk { file_wcc, count: 9, committed, verifier: [0; 8] }))
        })
    })
    .await;
    let error = mount.write(&file(), 0, b"four".to_vec().into(), vfs::Stability::File).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::Lie(Lie::WrongWrite { said: 9, given: 4 })), "{error}");
}

/// A server whose clock stands still, so that no directory ever seems to change. It makes directories, and may say that
/// it did not.
async fn timeless(says_so: bool) -> Mount {
    let is_made = std::sync::atomic::AtomicBool::new(false);
    let found = || nfs3::LookupOk { object: handle(FILE), attributes: None, dir_attributes: None };
    let made = || nfs3::CreateOk { object: Some(handle(FILE)), attributes: None, dir_wcc: nfs3::WccData::default() };
    fake::mount(move |question| {
        let is_there = is_made.load(Ordering::Relaxed);
        if question.is::<nfs3::Mkdir>() {
            is_made.store(true, Ordering::Relaxed);
            let failed = Res::Fail(nfs3::Status::Io, nfs3::WccData::default());
            return Some(results(if says_so { Res::Ok(made()) } else { failed }));
        }
        if question.is::<nfs3::Lookup>() {
            let missing = Failed::Fail(nfs3::Status::NoEnt, None);
            return Some(results(if is_there { Failed::Ok(found()) } else { missing }));
        }
        let names: &[(&[u8], u64)] = if is_there { &[(b"a", 1), (b"new", 2)] } else { &[(b"a", 1)] };
        question.is::<nfs3::Readdir>().then(|| names_page(names, true))
    })
    .await
}

#[tokio::test]
async fn own_change_is_seen_although_the_directory_seems_to_be_the_same() {
    for says_so in [true, false] {
        let mount = timeless(says_so).await;
        let root = mount.root_dir();
        assert_eq!(root.metadata("new").await.unwrap_err().status(), Some(Status::NoEntry));
        assert_eq!(list_dir(&mount).await.unwrap().len(), 1);
        assert_eq!(root.create_dir("new", 0o755).await.is_ok(), says_so);
        assert_eq!(list_dir(&mount).await.unwrap().len(), 2);
        assert!(root.metadata("new").await.is_ok());
    }
}
