//! Jobs against a server in this process that serves from memory.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Options, Url};
use daemon::{Daemon, export_to_this_machine};
use fs_mem::{MemFs, MemOptions};
use lab::bench::{BenchResult, Distribution, End, Error, Existing, Files, Job, Observer, run};
use measure::record::{Direction, DirectionSummary};

const MIB: u64 = 1 << 20;

/// A server of an empty directory that everybody may write to.
pub(crate) struct Export {
    daemon: Daemon,
}

impl Export {
    pub(crate) fn start() -> Export {
        let files = Arc::new(MemFs::new(MemOptions::default()));
        let options =
            daemon::Options { listen: vec!["127.0.0.1:0".parse().unwrap()], loops: 1, ..daemon::Options::default() };
        let mut export = export_to_this_machine("/files", files);
        export.rules.iter_mut().for_each(|rule| rule.options.squash = server::Squash::None);
        Export { daemon: Daemon::start(options, vec![export]).unwrap() }
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.daemon.addresses()[0]
    }

    pub(crate) fn url(&self, rest: &str) -> Url {
        format!("nfs://{}/files{rest}", self.daemon.addresses()[0]).parse().unwrap()
    }

    /// A small job on `rest`, which is done in a moment.
    fn job(&self, workload: &str, rest: &str) -> Job {
        Job {
            options: Options { use_privileged_port: false, ..Options::default() },
            workload: workload.parse().unwrap(),
            block_bytes: 4096,
            file_bytes: MIB,
            depth: 8,
            existing: Existing::Overwrite,
            end: End::Bytes(2 * MIB),
            ..Job::new(self.url(rest))
        }
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        self.daemon.shutdown(Duration::from_secs(1));
        self.daemon.wait();
    }
}

fn direction(outcome: &BenchResult, direction: Direction) -> &DirectionSummary {
    outcome.summary.directions.iter().find(|summary| summary.direction == direction).unwrap()
}

#[test]
fn every_workload_moves_the_bytes_that_were_asked_for_and_checks_them() {
    let export = Export::start();
    for workload in ["read", "write", "rw", "randread", "randwrite", "randrw"] {
        for parameters in ["?version=3", "?version=2", "?version=3&proto=udp", "?version=4.0", "?version=4.2"] {
            let job = Job { verify: true, connections: 3, ..export.job(workload, &format!("/{workload}{parameters}")) };
            let outcome = run(&job).unwrap();
            let total = outcome.summary.total();
            assert_eq!((total.bytes, outcome.summary.errors()), (2 * MIB, 0), "{workload} {parameters}");
            assert!(outcome.first_error.is_none());
        }
    }
}

#[test]
fn opens_and_locks_are_counted_in_pairs_that_move_no_bytes() {
    let export = Export::start();
    for version in ["4.0", "4.1", "4.2"] {
        for workload in ["open", "lock"] {
            let job = Job { connections: 2, ..export.job(workload, &format!("/{workload}?version={version}")) };
            let outcome = run(&job).unwrap();
            let pairs = direction(&outcome, Direction::Metadata).work;
            assert_eq!((pairs.operations, pairs.bytes), (2 * MIB / 4096, 0), "{workload} {version}");
            assert!(outcome.first_error.is_none(), "{workload} {version}: {:?}", outcome.first_error);
        }
    }
}

#[test]
fn read_plus_covers_the_same_bytes_of_data_holes_and_both() {
    let export = Export::start();
    for workload in ["readplus-data", "readplus-hole", "readplus-mixed", "randreadplus-mixed"] {
        let outcome = run(&Job { block_bytes: 128 << 10, ..export.job(workload, "?version=4.2") }).unwrap();
        assert_eq!((outcome.summary.total().bytes, outcome.summary.errors()), (2 * MIB, 0), "{workload}");
    }
    assert!(names(&export).is_empty());
}

#[test]
fn file_with_something_in_it_is_not_made_of_holes() {
    let export = Export::start();
    run(&export.job("write", "/kept")).unwrap();
    let refused = run(&export.job("readplus-hole", "/kept?version=4.2")).unwrap_err();
    assert!(matches!(refused, Error::NotEmpty(_)), "{refused}");
}

#[test]
fn version_without_the_operation_of_a_workload_is_refused() {
    let export = Export::start();
    let refused = run(&Job { depth: 1, ..export.job("readplus-data", "/f?version=3") });
    assert!(matches!(refused, Err(Error::Version { .. })));
}

#[test]
fn timed_job_ends_after_its_time_and_every_operation_has_a_latency() {
    let export = Export::start();
    let end = End::After(Duration::from_millis(300));
    let outcome = run(&Job { end, warm_up: Duration::from_millis(100), ..export.job("randread", "/f") }).unwrap();
    let reads = direction(&outcome, Direction::Read);
    assert!(reads.work.operations > 100 && reads.latency_ns.count() == reads.work.operations);
    assert_eq!(reads.work.bytes, reads.work.operations * 4096);
    assert!((280..2_000).contains(&reads.runtime.as_millis()), "{:?}", reads.runtime);
    assert!(outcome.summary.client_cpu.total > Duration::ZERO);
}

#[test]
fn unstable_writes_end_with_one_sync_per_connection_and_stable_ones_with_none() {
    let export = Export::start();
    let outcome = run(&Job { connections: 2, ..export.job("write", "/f") }).unwrap();
    assert_eq!(direction(&outcome, Direction::Sync).work.operations, 2);
    let outcome = run(&Job { stable_writes: true, ..export.job("write", "/f") }).unwrap();
    assert!(outcome.summary.directions.iter().all(|summary| summary.direction == Direction::Write));
}

#[test]
fn file_is_made_where_a_directory_is_named_and_gone_afterwards() {
    let export = Export::start();
    run(&export.job("randrw", "")).unwrap();
    run(&export.job("write", "/kept")).unwrap();
    assert_eq!(names(&export), ["kept"]);
}

#[test]
fn server_process_is_measured_when_its_number_is_known() {
    let export = Export::start();
    let end = End::After(Duration::from_millis(300));
    let job = Job { end, server_pid: Some(std::process::id()), ..export.job("randread", "/f") };
    let outcome = run(&job).unwrap();
    assert!(outcome.summary.server_cpu.unwrap().total > Duration::ZERO);
    assert!(outcome.server_memory.unwrap().resident_bytes > 1 << 20);
}

#[test]
fn processor_time_is_of_the_operations_that_were_done_in_it() {
    let export = Export::start();
    let mounts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&mounts);
    let job = Job {
        end: End::After(Duration::from_millis(100)),
        warm_up: Duration::from_millis(300),
        server_pid: Some(std::process::id()),
        observer: Some(Observer(Arc::new(move |mount: &client::Mount| seen.lock().unwrap().push(mount.meter())))),
        ..export.job("write", "/f")
    };
    let summary = run(&job).unwrap().summary;
    let all: u64 = mounts.lock().unwrap().iter().map(|meter| meter.statistics().calls("WRITE")).sum();
    // Those of the warm-up are not in it, nor are those that fill the file.
    let counted = summary.work_in_runtime.operations;
    assert!(counted > 0 && counted < all, "{counted} of {all}");
    assert!(summary.runtime < summary.elapsed && summary.server_cpu.unwrap().total > Duration::ZERO);
}

#[test]
fn job_that_the_server_cannot_do_is_refused_before_it_begins() {
    let export = Export::start();
    let job = Job { block_bytes: 16_384, ..export.job("read", "/f?version=2") };
    assert!(matches!(run(&job), Err(Error::TransferSize { block_bytes: 16_384, max: 8192 })));
    let missing = run(&export.job("read", "/no/such/folder/f")).unwrap_err();
    assert!(matches!(&missing, Error::Client(_)), "{missing}");
}

#[test]
fn open_loop_begins_as_many_operations_as_are_due_and_no_more() {
    let export = Export::start();
    for rate in ["200", "200,poisson"] {
        let end = End::After(Duration::from_millis(500));
        let job = Job { end, rate: Some(rate.parse().unwrap()), connections: 2, ..export.job("randread", "/f") };
        let found = direction(&run(&job).unwrap(), Direction::Read).work.operations;
        // Of a Poisson process with mean 100, more than 150 come less than once in a million times.
        assert!((1..=150).contains(&found), "{rate}: {found}");
    }
}

#[test]
fn latency_of_an_open_loop_counts_from_when_an_operation_was_due() {
    let export = Export::start();
    // Far more than one operation at a time can do: they wait for each other ever longer.
    let end = End::After(Duration::from_millis(200));
    let job = Job { end, depth: 1, rate: Some("1e6".parse().unwrap()), ..export.job("randread", "/f") };
    let outcome = run(&job).unwrap();
    let found = direction(&outcome, Direction::Read);
    assert!(found.latency_ns.max() > 10 * found.completion_ns.quantile(0.5), "{:?}", found.latency_ns.max());
}

#[test]
fn mix_reads_writes_and_asks_without_an_error() {
    let export = Export::start();
    for version in ["3", "4.1"] {
        let job = Job { end: End::Bytes(2000 * 4096), ..export.job("mix", &format!("/?version={version}")) };
        let outcome = run(&job).unwrap();
        assert!(outcome.first_error.is_none(), "{version}: {:?}", outcome.first_error);
        let all: Vec<Direction> = outcome.summary.directions.iter().map(|summary| summary.direction).collect();
        assert_eq!(all, [Direction::Read, Direction::Write, Direction::Sync, Direction::Metadata], "{version}");
    }
    assert_eq!(names(&export), Vec::<String>::new());
}

#[test]
fn existing_file_is_read_as_it_is_and_never_changed_without_leave() {
    let export = Export::start();
    let mine: Vec<u8> = (0..10_000_u32).flat_map(u32::to_be_bytes).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stored = |name: &str, data: Option<&[u8]>| {
        runtime.block_on(async {
            let mount = client::Mount::connect(&export.url(""), &Options::default()).await.unwrap();
            if let Some(data) = data {
                mount.root_dir().write(name, data.to_vec()).await.unwrap();
            }
            mount.root_dir().read(name).await.unwrap().to_vec()
        })
    };
    for name in ["thesis", "own.1"] {
        stored(name, Some(&mine));
    }
    let keep = |existing| Job { existing, end: End::After(Duration::from_millis(20)), ..export.job("read", "/thesis") };
    for workload in ["write", "rw", "randwrite", "mix", "readplus-data", "read"] {
        for existing in [Existing::Keep, Existing::KeepWhole] {
            let job = Job { workload: workload.parse().unwrap(), verify: workload == "read", ..keep(existing) };
            let job = Job { url: export.url("/thesis?version=4.2"), ..job };
            assert!(matches!(run(&job), Err(Error::Exists(_))), "{workload}");
            let one_exists = Job { files: Files::OnePerConnection, connections: 2, ..job };
            let one_exists = Job { url: export.url("/own?version=4.2"), verify: false, ..one_exists };
            assert!(workload == "read" || matches!(run(&one_exists), Err(Error::Exists(_))), "{workload}");
        }
    }
    // A refused job makes nothing.
    assert_eq!(names(&export), ["own.1", "thesis"]);
    for (job, wanted_bytes) in
        [(keep(Existing::Keep), MIB), (Job { block_bytes: 65_536, ..keep(Existing::KeepWhole) }, 65_536)]
    {
        let refused = run(&job).unwrap_err();
        assert!(matches!(refused, Error::TooShort { size_bytes: 40_000, wanted_bytes: of, .. } if of == wanted_bytes));
    }
    for (existing, file_bytes) in [(Existing::Keep, 8192), (Existing::KeepWhole, MIB)] {
        let outcome = run(&Job { file_bytes, ..keep(existing) }).unwrap();
        assert!(outcome.summary.errors() == 0 && outcome.summary.total().operations > 0 && !outcome.made_files);
    }
    for workload in ["getattr", "open", "lock"] {
        let job = Job { workload: workload.parse().unwrap(), ..keep(Existing::Keep) };
        assert_eq!(run(&Job { url: export.url("/thesis?version=4.2"), ..job }).unwrap().summary.errors(), 0);
    }
    assert!(stored("thesis", None) == mine && stored("own.1", None) == mine);
    run(&Job { file_bytes: MIB, workload: "write".parse().unwrap(), ..keep(Existing::Overwrite) }).unwrap();
    assert!(stored("thesis", None) != mine);
}

fn names(export: &Export) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mount = client::Mount::connect(&export.url(""), &Options::default()).await.unwrap();
        let mut listing = mount.read_dir(&mount.root().handle, client::Detail::Names);
        let mut names = Vec::new();
        while let Some(entry) = listing.next().await.unwrap() {
            names.push(String::from_utf8_lossy(&entry.name).into_owned());
        }
        names.sort();
        names
    })
}

#[test]
fn metadata_is_asked_for_without_filling_a_file_and_nothing_is_left_behind() {
    let export = Export::start();
    for workload in ["getattr", "access", "lookup", "createremove", "newfile", "readdirplus"] {
        for parameters in ["?version=3", "?version=4.1"] {
            let job = Job { connections: 3, file_bytes: 1 << 50, ..export.job(workload, &format!("/{parameters}")) };
            let outcome = run(&job).unwrap();
            let asked = direction(&outcome, Direction::Metadata);
            assert!(asked.work.operations > 0 && asked.work.bytes == 0, "{workload} {parameters}");
            assert_eq!(outcome.summary.errors(), 0, "{workload} {parameters}: {:?}", outcome.first_error);
        }
    }
    assert_eq!(names(&export), Vec::<String>::new());
}

#[test]
fn connections_with_files_of_their_own_share_none_and_leave_those_that_were_asked_for() {
    let export = Export::start();
    let job = Job { files: Files::OnePerConnection, connections: 3, ..export.job("read", "/own?version=3") };
    assert_eq!(run(&job).unwrap().summary.errors(), 0);
    assert_eq!(names(&export), ["own.0", "own.1", "own.2"]);
    // In a directory they are made for the job alone.
    let job = Job { files: Files::OnePerConnection, connections: 3, ..export.job("write", "/?version=4.1") };
    let outcome = run(&job).unwrap();
    assert_eq!((outcome.summary.total().bytes, outcome.summary.errors()), (2 * MIB, 0));
    assert_eq!(names(&export).len(), 3);
    let verified = Job { files: Files::OnePerConnection, verify: true, ..export.job("write", "/own?version=3") };
    assert!(matches!(run(&verified), Err(Error::Verify(_))));
}

#[test]
fn reads_and_questions_are_spread_over_many_files_and_changes_are_not() {
    let export = Export::start();
    let job = |workload: &str| Job {
        files: Files::Spread(20),
        block_bytes: 4096,
        file_bytes: 8192,
        end: End::Bytes(40 * 4096),
        ..export.job(workload, "/many?version=3")
    };
    for workload in ["randread", "read", "getattr", "access", "lookup"] {
        let outcome = run(&job(workload)).unwrap();
        let asked = outcome.summary.total().operations;
        assert_eq!((asked, outcome.summary.errors()), (40, 0), "{workload} {:?}", outcome.first_error);
    }
    assert_eq!(names(&export).len(), 20);
    for workload in ["write", "randrw", "mix", "open", "createremove"] {
        assert!(matches!(run(&job(workload)), Err(Error::Spread(_))), "{workload}");
    }
}

#[test]
fn each_outstanding_lock_is_in_a_file_of_its_own() {
    let export = Export::start();
    let mounts = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&mounts);
    let job = Job {
        depth: 4,
        files: Files::Spread(3),
        file_bytes: 4096,
        observer: Some(Observer(Arc::new(move |mount: &client::Mount| all.lock().unwrap().push(mount.meter())))),
        ..export.job("lock", "/locked?version=4.1")
    };
    let outcome = run(&job).unwrap();
    assert!(outcome.first_error.is_none(), "{:?}", outcome.first_error);
    assert_eq!(names(&export).len(), 3);
    let calls = |name| mounts.lock().unwrap().iter().map(|meter| meter.statistics().calls(name)).sum::<u64>();
    // Three make the files, and each of four workers has an open; the fourth shares the first one's file.
    assert_eq!((calls("OPEN"), calls("LOCK")), (3 + 4, direction(&outcome, Direction::Metadata).work.operations));
}

#[test]
fn held_opens_are_made_once_on_each_connection_and_reads_use_them() {
    let export = Export::start();
    let mounts = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&mounts);
    let job = Job {
        connections: 2,
        files: Files::Spread(20),
        file_bytes: 4096,
        holds_opens: true,
        observer: Some(Observer(Arc::new(move |mount: &client::Mount| all.lock().unwrap().push(mount.meter())))),
        ..export.job("randread", "/held?version=4.1")
    };
    let outcome = run(&job).unwrap();
    assert!(outcome.first_error.is_none(), "{:?}", outcome.first_error);
    assert_eq!(outcome.summary.total().bytes, 2 * MIB);
    let calls = |name| mounts.lock().unwrap().iter().map(|meter| meter.statistics().calls(name)).sum::<u64>();
    // The files are made by opens too.
    assert_eq!((calls("OPEN"), calls("CLOSE"), calls("READ")), (20 + 40, 20 + 40, 512));
}

#[test]
fn blocks_of_several_sizes_popular_blocks_and_data_to_compress_are_written_and_checked() {
    let export = Export::start();
    for (workload, version) in [("randrw", "2"), ("rw", "3"), ("randrw", "4.0"), ("randwrite", "4.2")] {
        let distribution = match workload {
            "rw" => Distribution::Random,
            _ => "zipf:1.1".parse().unwrap(),
        };
        let job = Job {
            block_split: Some("4k/50:6k/50,512/20:8k/80".parse().unwrap()),
            distribution,
            compress_percent: Some(50),
            verify: true,
            connections: 3,
            ..export.job(workload, &format!("/{workload}.{version}?version={version}"))
        };
        let outcome = run(&job).unwrap();
        let moved_bytes = outcome.summary.total().bytes;
        assert!((2 * MIB..2 * MIB + 3 * 8192).contains(&moved_bytes), "{workload} {version}: {moved_bytes}");
        assert_eq!((outcome.summary.errors(), outcome.first_error.is_none()), (0, true), "{workload} {version}");
    }
}

#[test]
fn commit_follows_every_so_many_writes_and_version_2_has_none() {
    let export = Export::start();
    let job = |version| Job {
        commit_every: NonZeroU32::new(10),
        depth: 4,
        ..export.job("randwrite", &format!("/f?version={version}"))
    };
    for version in ["3", "4.0", "4.2"] {
        let outcome = run(&job(version)).unwrap();
        let [writes, syncs] =
            [Direction::Write, Direction::Sync].map(|found| direction(&outcome, found).work.operations);
        // The last two writes have a COMMIT of their own.
        assert_eq!((writes, syncs, outcome.summary.errors()), (512, 52, 0), "{version}");
    }
    let refusal = run(&job("2")).unwrap_err().to_string();
    assert!(refusal.contains("randwrite with --fsync requires NFSv3"), "{refusal}");
}

#[test]
fn connection_thinks_after_each_operation_before_it_begins_the_next_one() {
    let export = Export::start();
    let job = Job { think_time: Duration::from_millis(20), depth: 2, ..export.job("randread", "/f") };
    let job = Job { end: End::Bytes(20 * 4096), ..job };
    let outcome = run(&job).unwrap();
    // Two operations begin at once, and each of the others after a pause of its own.
    let found = direction(&outcome, Direction::Read);
    assert!(found.runtime >= Duration::from_millis(18 * 20), "{found:?}");
}

#[test]
fn periods_have_every_operation_of_the_measurement() {
    let export = Export::start();
    let outcome = run(&Job { connections: 3, ..export.job("randrw", "/f") }).unwrap();
    let total = outcome.summary.total();
    let syncs = direction(&outcome, Direction::Sync).work.operations;
    let periods = &outcome.summary.periods;
    assert_eq!(periods.iter().map(|period| period.operations).sum::<u64>(), total.operations - syncs);
    assert_eq!(periods.iter().map(|period| period.bytes).sum::<u64>(), total.bytes);
    assert!(
        periods.iter().all(|period| period.operations == 0 || 0.0 < period.p50_us && period.p50_us <= period.p99_us)
    );
}

#[test]
fn job_that_is_stopped_while_it_makes_its_files_leaves_none_behind() {
    let export = Export::start();
    let job = Job { files: Files::Spread(3000), file_bytes: 8192, ..export.job("getattr", "") };
    let stop = job.stop.clone();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&job));
        while names(&export).len() < 20 {
            assert!(!running.is_finished(), "it ended before it was stopped");
        }
        stop.stop();
        let ended = running.join().unwrap();
        assert!(matches!(ended, Err(Error::Stopped)), "{ended:?}");
    });
    assert_eq!(names(&export), [""; 0]);
}
