//! Calls while the server's tables of files, exports or workers are large.

use proto::mount::{DirPath, Mnt3};
use proto::nfs3::{FileHandle, Getattr, GetattrArgs, Read, ReadArgs};
use proto::nfs4::Putrootfh;

use crate::names::{change_name, many};
use crate::step::{Plan, Step};
use crate::{FILE, READ_BYTES, export_name, name_of};
use testing::caller::Caller;
use testing::compound::{COMPOUND, Compound};

/// GETATTR of many files by turns.
pub fn get_attributes(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    of_files(caller, (size, times), |file| Step::call::<Getattr>(caller, &GetattrArgs { object: file }))
}

/// READ of many files by turns.
pub fn read(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    of_files(caller, (size, times), |file| read_of(caller, file))
}

fn read_of(caller: Caller<'_>, file: FileHandle) -> Step<'_> {
    Step::call::<Read>(caller, &ReadArgs { file, offset: 0, count: READ_BYTES })
}

/// A whole round over the files, and the counted beginning of the next round.
fn of_files<'s>(caller: Caller<'s>, (size, times): (usize, usize), step: impl Fn(FileHandle) -> Step<'s>) -> Plan<'s> {
    let dir = many(caller);
    let files: Vec<FileHandle> = (0..size).map(|number| caller.handle_of(&dir, &name_of(number))).collect();
    let steps = |count| (0..count).map(|number| step(files[number % size])).collect();
    Plan::of(steps(size), steps(times))
}

/// GETATTR of the roots of exports by turns.
pub fn get_attributes_of_roots(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let roots: Vec<FileHandle> = (0..size).map(|number| caller.mount_path(&export_name(number))).collect();
    of_exports(size, times, |number| Step::call::<Getattr>(caller, &GetattrArgs { object: roots[number] }))
}

/// MNT of exports by turns.
pub fn mount(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    of_exports(size, times, |number| Step::call::<Mnt3>(caller, &DirPath { path: export_name(number).as_bytes() }))
}

/// PUTROOTFH and LOOKUPs down to the roots of exports by turns.
pub fn go_to_exports(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    of_exports(size, times, |number| {
        let path = Compound::new(0).op::<Putrootfh>(&());
        let name = export_name(number);
        let path = name.split('/').filter(|name| !name.is_empty()).fold(path, |so_far, name| so_far.lookup(name));
        Step::Call { caller, worker: 0, message: caller.message_of(COMPOUND, &path) }
    })
}

/// The counted steps are of exports from the whole table.
fn of_exports<'s>(size: usize, times: usize, step: impl Fn(usize) -> Step<'s>) -> Plan<'s> {
    let number = |time: usize| if size > times { time * size / times } else { time % size };
    Plan::twice(|| (0..times).map(|time| step(number(time))).collect())
}

/// READ of one file on all workers by turns.
pub fn read_on_workers(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let file = caller.handle_of(&caller.mount(), FILE);
    Plan::twice(|| (0..times).map(|number| read_of(caller, file).at(number % size)).collect())
}

/// CREATE and REMOVE by turns, on all workers by turns; each has a file open.
pub fn change_names_on_workers(caller: Caller<'_>, size: usize, times: usize) -> Plan<'_> {
    let file = caller.handle_of(&caller.mount(), FILE);
    let dir = many(caller);
    let change = |number: usize| change_name(caller, &dir, number).at(number / 2 % size);
    let mut plan = Plan::twice(|| (0..times).map(change).collect());
    plan.before.extend((0..size).map(|worker| read_of(caller, file).at(worker)));
    plan
}
