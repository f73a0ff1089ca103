//! Has a server answer calls by hand while it has many of something: names in a directory, files in use, connections,
//! exports, opens, locks or workers. `cargo xtask growth` counts the calls.
//!
//! `growth files COUNT FOLDER` makes the files that the other runs serve.
//!
//! `growth FORM LINE SIZE TIMES MOST FOLDER STATE` serves them with handles of FORM: `kernel`, or `store` with its
//! state in STATE. It makes SIZE of what LINE is about. A first round of calls fills the caches. MOST more calls are
//! prepared, and TIMES of these run, inside of [`step::counted`]. The program prints how many units of work that were.
//!
//! Only instructions inside of that function count, and system calls while [`step::all_counted`] runs. What depends on
//! the machine or on a clock happens before: all caches are filled by the same worker.

#![allow(clippy::unwrap_used, reason = "a failure ends the program, and is shown by whoever runs it")]

mod names;
mod state;
mod step;
mod tables;

use std::path::Path;
use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};
use server::{Server, Settings};

use step::Plan;
use testing::caller::{Caller, EXPORT, WORKERS, export, memory_with_files, settings};

/// A file that no line counts among its many.
const FILE: &str = "file";
const FILE_BYTES: u64 = 1 << 20;
/// The directory with as many files as a line is about.
const MANY: &str = "many";
const READ_BYTES: u32 = 4096;

/// The most files that each worker caches: nodes, and open files. Few descriptors, so that the limit of the process
/// decides nothing.
const CACHED_FILES: usize = 256;

/// What a run is about.
struct Subject<'a> {
    line: &'a str,
    size: usize,
    /// The prepared calls.
    most: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["files", count, folder] => make_files(count.parse().unwrap(), Path::new(folder)),
        [form, line, size, times, most, folder, state] => {
            let subject = Subject { line, size: size.parse().unwrap(), most: most.parse().unwrap() };
            let server = serve(form, &subject, (Path::new(folder), Path::new(state)));
            println!("{}", plan(&server, &subject).run(times.parse().unwrap()));
        }
        _ => panic!("usage: growth files COUNT FOLDER | growth kernel|store LINE SIZE TIMES MOST FOLDER STATE"),
    }
}

/// Makes `count` files, which have a size but take no memory, and one more.
fn make_files(count: usize, folder: &Path) {
    let file = |path: &Path, bytes| std::fs::File::create(path).unwrap().set_len(bytes).unwrap();
    let many = folder.join(MANY);
    std::fs::create_dir(&many).unwrap();
    (0..count).for_each(|number| file(&many.join(name_of(number)), READ_BYTES.into()));
    file(&folder.join(FILE), FILE_BYTES);
}

/// Names of one length, so that a reply with a number of them has one size.
fn name_of(number: usize) -> String {
    format!("name{number:08}")
}

/// The server for a line.
fn serve(form: &str, subject: &Subject<'_>, folders: (&Path, &Path)) -> Server {
    let workers = if subject.line.ends_with("@worker") { subject.size } else { WORKERS };
    let settings = Settings { workers, open_files_per_worker: CACHED_FILES, ..settings() };
    let exports = match subject.line {
        line if line.ends_with("@export") => {
            (0..subject.size).map(|number| export(&export_name(number), memory_with_files(1))).collect()
        }
        // On the host, a file with locks is an open file, and few may be open.
        "lock@locks" => vec![export(EXPORT, memory_with_files(subject.size + 1))],
        _ => vec![export(EXPORT, Arc::new(HostFs::open(folders.0, host_options(form, &settings, folders.1)).unwrap()))],
    };
    Server::new(settings, exports).unwrap()
}

fn host_options(form: &str, settings: &Settings, state: &Path) -> HostOptions {
    let handle_form = match form {
        "kernel" => HandleForm::Kernel,
        "store" => HandleForm::Store,
        other => panic!("{other} is no form of handles"),
    };
    HostOptions {
        handle_form,
        state_dir: Some(state.to_owned()),
        workers: settings.workers,
        max_nodes: Some(CACHED_FILES),
        ..HostOptions::default()
    }
}

fn export_name(number: usize) -> String {
    format!("/srv/export{number:08}")
}

fn plan<'s>(server: &'s Server, subject: &Subject<'_>) -> Plan<'s> {
    let caller = Caller::root(server);
    let (size, times) = (subject.size, subject.most);
    match subject.line {
        "lookup@name" => names::look_up(caller, size, times),
        "createremove@name" => names::create_and_remove(caller, times),
        "readdirplus@name" => names::list(caller, size, times),
        "getattr@file" => tables::get_attributes(caller, size, times),
        "read@file" => tables::read(caller, size, times),
        "getattr@export" => tables::get_attributes_of_roots(caller, size, times),
        "mnt@export" => tables::mount(caller, size, times),
        "lookup4@export" => tables::go_to_exports(caller, size, times),
        "lock@export" => state::lock_in_last_export(caller, size, times),
        "getattr41@connection" => state::get_attributes(caller, size, times),
        "end@connection" => state::end_connections(caller, size, times),
        "read41@open" => state::read_beside_opens(caller, size, times),
        "openclose@open" => state::open_beside_opens(caller, size, times),
        "openclose@owner" => state::open_beside_owners(caller, size, times),
        "lock@ranges" => state::lock_beside_ranges(caller, size, times),
        "lock@locks" => state::lock_beside_files(caller, size, times),
        "read@worker" => tables::read_on_workers(caller, size, times),
        "createremove@worker" => tables::change_names_on_workers(caller, size, times),
        other => panic!("{other} is no line that is counted"),
    }
}
