//! Calls to a directory of many names.

use proto::nfs3::{
    Create, CreateArgs, CreateHow, FileHandle, Lookup, LookupArgs, Readdir, ReaddirArgs, Readdirplus, ReaddirplusArgs,
    Remove, RemoveArgs,
};

use crate::step::{Plan, Step};
use crate::{MANY, name_of};
use testing::caller::Caller;
use testing::caller::nfs3::{at, mode, success};

/// The size of a reply to READDIRPLUS: some forty names, fewer than after which an event loop looks at the clock.
const REPLY_BYTES: u32 = 8192;
/// The size of replies on the way to the middle of the directory.
const LARGE_REPLY_BYTES: u32 = 1 << 20;

/// Where a listing continues.
#[derive(Clone, Copy)]
struct From {
    cookie: u64,
    verifier: [u8; 8],
}

pub fn many(caller: Caller<'_>) -> FileHandle {
    caller.handle_of(&caller.mount(), MANY)
}

/// LOOKUP of names from all over the directory.
pub fn look_up(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let dir = many(caller);
    let look_up = |number: usize| {
        let name = name_of(number * size / times);
        Step::call::<Lookup>(caller, &LookupArgs { what: at(&dir, &name) })
    };
    Plan::twice(|| (0..times).map(look_up).collect())
}

/// CREATE and REMOVE of one name by turns.
pub fn create_and_remove(caller: Caller<'_>, times: usize) -> Plan<'_> {
    let dir = many(caller);
    Plan::twice(|| (0..times).map(|number| change_name(caller, &dir, number)).collect())
}

pub fn change_name<'s>(caller: Caller<'s>, dir: &FileHandle, number: usize) -> Step<'s> {
    if number.is_multiple_of(2) {
        let how = CreateHow::Unchecked(mode(0o644));
        return Step::call::<Create>(caller, &CreateArgs { place: at(dir, "new"), how });
    }
    Step::call::<Remove>(caller, &RemoveArgs { object: at(dir, "new") })
}

/// READDIRPLUS from the middle of the directory on, after a whole round on the same worker; the names are the units.
pub fn list(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let dir = many(caller);
    let middle = middle(caller, &dir, size);
    let (mut pages, mut units) = (Vec::new(), Vec::new());
    let mut next = Some(middle);
    while let Some(from) = next {
        let args = ReaddirplusArgs {
            dir,
            cookie: from.cookie,
            verifier: from.verifier,
            dir_count: REPLY_BYTES,
            max_count: REPLY_BYTES,
        };
        let page = success(caller.call::<Readdirplus>(&args));
        pages.push(args);
        units.push(page.entries.len());
        let last = page.entries.last().filter(|_| !page.eof);
        next = last.map(|last| From { cookie: last.entry.cookie, verifier: page.head.verifier });
    }
    let round = || pages.iter().map(|args| Step::call::<Readdirplus>(caller, args));
    Plan {
        before: round().collect(),
        counted: (0..times.div_ceil(pages.len())).flat_map(|_| round()).take(times).collect(),
        units: units.iter().copied().cycle().take(times).collect(),
    }
}

fn middle(caller: Caller<'_>, dir: &FileHandle, size: usize) -> From {
    let mut from = From { cookie: 0, verifier: [0; 8] };
    let mut names = 0;
    while names < size / 2 {
        let args = ReaddirArgs { dir: *dir, cookie: from.cookie, verifier: from.verifier, count: LARGE_REPLY_BYTES };
        let page = success(caller.call::<Readdir>(&args));
        let cookies: Vec<u64> = page.entries.iter().map(|entry| entry.cookie).take(size / 2 - names).collect();
        names += cookies.len();
        from = From { cookie: *cookies.last().expect("the directory has so many names"), verifier: page.head.verifier };
    }
    from
}
