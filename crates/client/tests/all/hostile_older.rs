//! Results of NFSv2 and NFSv3 that cannot be right: each is an error that says what is wrong, and the client goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::{Detail, Handle, Lie, Mount, Options, Reason, Result, Status, Version};
use proto::{mount, nfs2};
use vfs::Stability;

use crate::fake::{self, Answer, Question, basics, results, serve};

const MANY: u32 = u32::MAX;
/// How many entries a directory may have here.
const MAX_ENTRIES: u64 = 100;

/// What is called.
#[derive(Debug, Clone, Copy)]
enum Call {
    Getattr,
    Lookup,
    Readlink,
    Read,
    Write,
    Names,
    Entries,
    Fsstat,
}

type Expected = fn(&Reason) -> bool;
/// The version, the number of the procedure, the call, what it is told as words, and what must come of that.
type Told = (Version, u32, Call, Box<dyn Fn(&Question) -> Vec<u32> + Send + Sync>, Expected);

async fn call(mount: &Mount, call: Call) -> Result<()> {
    let (root, file) = (mount.root().handle, Handle::new(&[b'f'; 32]).unwrap());
    match call {
        Call::Getattr => mount.getattr(&file).await.map(drop),
        Call::Lookup => mount.lookup(&root, b"file").await.map(drop),
        Call::Readlink => mount.readlink(&file).await.map(drop),
        Call::Read => mount.read(&file, 0, 4).await.map(drop),
        Call::Write => mount.write(&file, 0, b"four".to_vec().into(), Stability::File).await.map(drop),
        Call::Names => list(mount, Detail::Names).await,
        Call::Entries => list(mount, Detail::Entries).await,
        Call::Fsstat => mount.fsstat(&root).await.map(drop),
    }
}

async fn list(mount: &Mount, detail: Detail) -> Result<()> {
    let mut listing = mount.read_dir(&mount.root().handle, detail);
    while listing.next().await?.is_some() {}
    Ok(())
}

/// The attributes of a directory of version 2.
fn attributes() -> Vec<u32> {
    vec![2, 0o40755, 2, 0, 0, 4096, 4096, 0, 8, 1, 1, 1, 0, 1, 0, 1, 0]
}

/// What a mount of version 2 needs, beside what that of version 3 does.
fn basics_of_v2(question: &Question) -> Option<Answer> {
    let words = match (question.program, question.version, question.procedure) {
        (mount::PROGRAM, 1 | 2, 1) => [&[0; 1][..], &[7; 8]].concat(),
        (nfs2::PROGRAM, 2, 1) => [&[0][..], &attributes()].concat(),
        (nfs2::PROGRAM, 2, 17) => vec![0, 8192, 4096, 100, 50, 50],
        _ => return None,
    };
    Some(answer(&words))
}

fn answer(words: &[u32]) -> Answer {
    Answer::Results(words.iter().flat_map(|word| word.to_be_bytes()).collect())
}

fn is_bad(reason: &Reason) -> bool {
    matches!(reason, Reason::BadReply(_))
}

fn fixed(version: Version, procedure: u32, call: Call, words: &[&[u32]], expected: Expected) -> Told {
    let words = words.concat();
    (version, procedure, call, Box::new(move |_| words.clone()), expected)
}

/// A function that says whether the reason is such a lie.
macro_rules! lie {
    ($lie:pat) => {
        |reason| matches!(reason, Reason::Lie($lie))
    };
}

fn told_of_v2() -> Vec<Told> {
    let v2 = Version::V2;
    let (name, file) = ([4, u32::from_be_bytes(*b"name")], attributes());
    let page = move |cookie: u32| [&[0, 1, 7][..], &name, &[cookie, 0, 0]].concat();
    let cookie = |question: &Question| question.arguments::<nfs2::Readdir>().cookie;
    vec![
        fixed(v2, 1, Call::Getattr, &[&[0, 99], &file[1..]], is_bad),
        fixed(v2, 1, Call::Getattr, &[&[0], &file[..9]], is_bad),
        fixed(v2, 4, Call::Lookup, &[&[0], &[7; 7]], is_bad),
        fixed(v2, 5, Call::Readlink, &[&[0, MANY]], is_bad),
        fixed(v2, 5, Call::Readlink, &[&[0, 2000], &[7; 500]], is_bad),
        fixed(v2, 5, Call::Readlink, &[&[0, 3, u32::from_be_bytes(*b"a\0b\0")]], lie!(Lie::BadTarget)),
        fixed(v2, 6, Call::Read, &[&[0], &file, &[8, 7, 7]], lie!(Lie::TooMuchData { asked: 4, got: 8 })),
        fixed(v2, 6, Call::Read, &[&[0], &file, &[0]], lie!(Lie::NoData)),
        fixed(v2, 6, Call::Read, &[&[0], &file, &[MANY]], is_bad),
        fixed(v2, 8, Call::Write, &[&[0], &file[..3]], is_bad),
        fixed(v2, 16, Call::Names, &[&page(0)], lie!(Lie::CookieLoop)),
        fixed(v2, 16, Call::Names, &[&[0, 1, 7, MANY]], is_bad),
        fixed(v2, 16, Call::Names, &[&[0, 0, 0]], lie!(Lie::CookieLoop)),
        (v2, 16, Call::Names, Box::new(move |asked| page(cookie(asked) % 3 + 1)), lie!(Lie::CookieLoop)),
        (v2, 16, Call::Names, Box::new(move |asked| page(cookie(asked) + 1)), lie!(Lie::TooManyEntries(MAX_ENTRIES))),
        fixed(v2, 17, Call::Fsstat, &[&[0, 8192]], is_bad),
    ]
}

fn told_of_v3() -> Vec<Told> {
    let v3 = Version::V3;
    let name = [4, u32::from_be_bytes(*b"name")];
    // No attributes of the directory, a verifier, an entry with its number, its name and its cookie.
    let entry = [&[0, 0, 0, 0, 1, 0, 7][..], &name, &[0, 5]].concat();
    vec![
        fixed(v3, 1, Call::Getattr, &[&[0, 99], &[0; 20]], is_bad),
        fixed(v3, 1, Call::Getattr, &[&[0, 2], &[0; 19]], is_bad),
        fixed(v3, 3, Call::Lookup, &[&[0, 65], &[7; 20]], is_bad),
        fixed(v3, 3, Call::Lookup, &[&[0, MANY]], is_bad),
        fixed(v3, 5, Call::Readlink, &[&[0, 0, MANY]], is_bad),
        fixed(v3, 5, Call::Readlink, &[&[0, 0, 5000], &[7; 1250]], is_bad),
        fixed(v3, 5, Call::Readlink, &[&[0, 0, 3, u32::from_be_bytes(*b"a\0b\0")]], lie!(Lie::BadTarget)),
        fixed(v3, 6, Call::Read, &[&[0, 0, 4, 2, 0]], is_bad),
        fixed(v3, 7, Call::Write, &[&[0, 0, 0, 0, 2, 0, 0]], lie!(Lie::WrongWrite { said: 0, given: 4 })),
        fixed(v3, 7, Call::Write, &[&[0, 0, 0, 4, 0, 0, 0]], lie!(Lie::LessStable)),
        fixed(v3, 7, Call::Write, &[&[0, 0, 0, 4, 9, 0, 0]], is_bad),
        fixed(v3, 16, Call::Names, &[&[0, 0, 0, 0, 0, 0]], lie!(Lie::CookieLoop)),
        fixed(v3, 17, Call::Entries, &[&entry, &[1, 99], &[0; 20], &[0, 0, 1]], is_bad),
        fixed(v3, 17, Call::Entries, &[&entry, &[0, 1, 65], &[7; 17], &[0, 1]], is_bad),
        fixed(v3, 17, Call::Entries, &[&entry, &[7, 0, 0, 1]], is_bad),
        fixed(v3, 18, Call::Fsstat, &[&[0, 0, 1]], is_bad),
    ]
}

#[tokio::test]
async fn what_a_procedure_cannot_tell_is_an_error_and_the_next_call_succeeds() {
    for (version, procedure, what, result, expected) in told_of_v2().into_iter().chain(told_of_v3()) {
        let lies = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&lies);
        let number = version.number();
        let address = serve(move |question| {
            let is_meant = (question.program, question.version) == (nfs2::PROGRAM, number);
            match shared.load(Ordering::Relaxed) && is_meant && question.procedure == procedure {
                true => answer(&result(question)),
                false => basics_of_v2(question).unwrap_or_else(|| basics(question)),
            }
        })
        .await;
        let options = Options { version, max_dir_entries: MAX_ENTRIES, ..fake::options() };
        let mount = Mount::connect(&format!("nfs://{address}/export").parse().unwrap(), &options).await.unwrap();
        lies.store(true, Ordering::Relaxed);
        let error = call(&mount, what).await.unwrap_err();
        assert!(expected(error.reason()), "{version} {what:?}: {error:?}");
        lies.store(false, Ordering::Relaxed);
        mount.getattr(&mount.root().handle).await.unwrap();
    }
}

#[tokio::test]
async fn status_that_nobody_knows_is_no_success() {
    for version in [Version::V2, Version::V3] {
        let lies = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&lies);
        let address = serve(move |question| match shared.load(Ordering::Relaxed) {
            true => results(77_777_u32),
            false => basics_of_v2(question).unwrap_or_else(|| basics(question)),
        })
        .await;
        let options = Options { version, ..fake::options() };
        let mount = Mount::connect(&format!("nfs://{address}/export").parse().unwrap(), &options).await.unwrap();
        lies.store(true, Ordering::Relaxed);
        let error = mount.getattr(&mount.root().handle).await.unwrap_err();
        assert!(is_bad(error.reason()) || error.status().is_some_and(|status| status != Status::Ok), "{error}");
    }
}
