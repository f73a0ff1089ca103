//! What the options for caches cost in calls, and what they buy, as nfs(5) has them: `cto`, `nocto`, `actimeo=0`,
//! `lookupcache=pos`, `lookupcache=none`, and `direct`.

use std::time::Duration;

use client::{Caching, Dir, Mount, NameCaching, OpenOptions, Options, Version};

use crate::real::Export;

/// Long enough that nothing is asked for because its time is up.
const DAY: Duration = Duration::from_secs(86_400);

fn believing() -> Caching {
    Caching { file_min: DAY, file_max: DAY, dir_min: DAY, dir_max: DAY, ..Caching::default() }
}

async fn mount(export: &Export, version: Version, caching: Caching) -> Mount {
    let options = Options { caching, uses_delegations: false, ..export.options(version) };
    Mount::connect(&export.url(), &options).await.unwrap()
}

/// The procedures that something calls, in alphabetical order, each with how often it does.
async fn calls<T>(mount: &Mount, work: impl Future<Output = T>) -> (String, T) {
    let before = mount.statistics();
    let done = work.await;
    let since = mount.statistics().since(&before);
    let mut called: Vec<String> = since
        .procedures()
        .filter(|(_, counted)| counted.calls > 0)
        .map(|(procedure, counted)| format!("{} {}", counted.calls, procedure.name()))
        .collect();
    called.sort_by(|one, other| one[2..].cmp(&other[2..]));
    (called.join(", "), done)
}

async fn stat_twice(dir: &Dir, name: &str) {
    for _ in 0..2 {
        let _ = dir.metadata(name).await;
    }
}

async fn read(dir: &Dir, times: usize) -> Vec<u8> {
    let file = dir.open("file", &OpenOptions::read()).await.unwrap();
    let mut bytes = vec![0; 100];
    let mut count = 0;
    for _ in 0..times {
        count = file.read_at(0, &mut bytes).await.unwrap();
    }
    file.close().await.unwrap();
    bytes.truncate(count);
    bytes
}

/// What a mount that has just begun calls for: a look at a file twice, a look at a name that is not there twice,
/// opening the file for reading twice, each time reading twice, and opening it once more without reading.
async fn costs(export: &Export, version: Version, caching: Caching) -> [String; 5] {
    let mount = mount(export, version, caching).await;
    let root = mount.root_dir();
    // What is known of the root from mounting is known in any case.
    let _ = root.metadata("").await;
    let (stats, ()) = calls(&mount, stat_twice(&root, "file")).await;
    let (absent, ()) = calls(&mount, stat_twice(&root, "absent")).await;
    let (first, _) = calls(&mount, read(&root, 2)).await;
    let (again, _) = calls(&mount, read(&root, 2)).await;
    let (open, _) = calls(&mount, read(&root, 0)).await;
    [stats, absent, first, again, open]
}

async fn write(export: &Export, version: Version, data: &[u8]) {
    let mount = mount(export, version, believing()).await;
    let file = mount.root_dir().open("file", &OpenOptions::both().making(0o644)).await.unwrap();
    file.write_at(0, data).await.unwrap();
    file.close().await.unwrap();
}

/// What one who has read the file before, and keeps it open, reads after another client has written it: through the
/// file that is open, and through one that is opened then.
async fn reads_after_another_wrote(export: &Export, version: Version, caching: Caching) -> [Vec<u8>; 2] {
    write(export, version, b"before").await;
    let mount = mount(export, version, caching).await;
    let root = mount.root_dir();
    assert_eq!(read(&root, 1).await, b"before");
    let open = root.open("file", &OpenOptions::read()).await.unwrap();
    write(export, version, b"behind").await;
    let mut through_open = vec![0; 6];
    open.read_at(0, &mut through_open).await.unwrap();
    [through_open, read(&root, 1).await]
}

/// What an option costs and buys.
struct Case {
    name: &'static str,
    caching: Caching,
    /// As [`costs`] has them.
    calls: [&'static str; 5],
    /// Whether one who keeps the file open sees what another client wrote, and whether one who opens it again does.
    is_seen: [bool; 2],
}

async fn check(version: Version, cases: impl IntoIterator<Item = Case>) {
    for Case { name, caching, calls, is_seen } in cases {
        let export = Export::start();
        write(&export, version, b"before").await;
        assert_eq!(costs(&export, version, caching).await, calls, "{version} {name}");
        let read = reads_after_another_wrote(&export, version, caching).await;
        assert_eq!(read.map(|bytes| bytes == b"behind"), is_seen, "{version} {name}");
    }
}

fn timeless() -> Caching {
    let never = Duration::ZERO;
    Caching { file_min: never, file_max: never, dir_min: never, dir_max: never, ..believing() }
}

fn named(names: NameCaching) -> Caching {
    Caching { names, ..believing() }
}

#[tokio::test]
async fn without_open_files_at_the_server_each_option_costs_what_it_says() {
    let case = |name, caching, calls, is_seen| Case { name, caching, calls, is_seen };
    let [nocto, direct] = [Caching { close_to_open: false, ..believing() }, Caching { is_direct: true, ..believing() }];
    let (once, twice, opened) = ("1 LOOKUP", "2 LOOKUP", "1 LOOKUP, 1 READ");
    let (asked, asked_again) = ("2 GETATTR, 1 LOOKUP, 1 READ", "2 GETATTR, 1 LOOKUP");
    let cases = [
        // Opening looks at the file, and what was read before is valid when it is as it was.
        case("cto", believing(), [once, once, opened, once, once], [false, true]),
        case("nocto", nocto, [once, once, "1 READ", "", ""], [false, false]),
        // Every look is one call, and so is every read of what is in memory.
        case("actimeo=0", timeless(), [twice, twice, asked, asked_again, once], [true, true]),
        case("lookupcache=pos", named(NameCaching::Positive), [once, twice, opened, once, once], [false, true]),
        case("lookupcache=none", named(NameCaching::Off), [twice, twice, opened, once, once], [false, true]),
        // Names and attributes are valid, and no data is.
        case("direct", direct, [once, once, "1 LOOKUP, 2 READ", "1 LOOKUP, 2 READ", once], [true, true]),
    ];
    check(Version::V3, cases).await;
}

#[tokio::test]
async fn with_open_files_at_the_server_each_option_costs_what_it_says() {
    let case = |name, caching, calls, is_seen| Case { name, caching, calls, is_seen };
    let [nocto, direct] = [Caching { close_to_open: false, ..believing() }, Caching { is_direct: true, ..believing() }];
    let (once, twice) = ("1 LOOKUP", "2 LOOKUP");
    let (opened, again) = ("1 CLOSE, 1 OPEN, 1 READ_PLUS", "1 CLOSE, 1 OPEN");
    let (asked, asked_again) = ("1 CLOSE, 2 GETATTR, 1 OPEN, 1 READ_PLUS", "1 CLOSE, 2 GETATTR, 1 OPEN");
    let read_twice = "1 CLOSE, 1 OPEN, 2 READ_PLUS";
    let cases = [
        case("cto", believing(), [once, once, opened, again, again], [false, true]),
        // OPEN has to be sent, and tells what the file is like whether that is wanted or not.
        case("nocto", nocto, [once, once, opened, again, again], [false, true]),
        case("actimeo=0", timeless(), [twice, twice, asked, asked_again, again], [true, true]),
        case("lookupcache=pos", named(NameCaching::Positive), [once, twice, opened, again, again], [false, true]),
        case("lookupcache=none", named(NameCaching::Off), [twice, twice, opened, again, again], [false, true]),
        case("direct", direct, [once, once, read_twice, read_twice, again], [true, true]),
    ];
    check(Version::V4_2, cases).await;
}
