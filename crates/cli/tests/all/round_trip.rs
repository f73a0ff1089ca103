//! A tree goes to a server and comes back, in every way that there is.

use std::fs;

use testing::Scratch;
use testing::program::{Server, make_tree, snapshot, wharf, wharf_ok};

/// The ways to talk to a server, as parameters of a URL.
const WAYS: [&str; 8] = [
    "version=3&proto=tcp",
    "version=3&proto=udp",
    "version=2&proto=tcp",
    "version=2&proto=udp",
    "version=4",
    "version=4.0",
    "version=4.1&nconnect=3",
    "version=4.2",
];

fn there_and_back(server: &Server, url: &str, scratch: &Scratch) {
    let tree = scratch.path("tree");
    make_tree(&tree);
    let expected = snapshot(&tree);
    for way in WAYS {
        let (remote, back) = (format!("{url}/copy?{way}"), scratch.path("back"));
        wharf_ok(&["cp", "-r", "--verify", tree.to_str().unwrap(), &remote]);
        wharf_ok(&["cp", "-r", "--verify", &remote, back.to_str().unwrap()]);
        assert!(snapshot(&back) == expected, "{way}: the tree that came back is another one");
        wharf_ok(&["rm", "-r", &remote]);
        assert_eq!(wharf_ok(&["ls", "-a", &format!("{url}?{way}")]), "", "{way}");
        fs::remove_dir_all(&back).unwrap();
    }
    assert!(!server.log().contains("ERROR"), "{}", server.log());
}

#[test]
fn tree_comes_back_from_a_directory_as_it_went() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    there_and_back(&server, &server.url(&export), &scratch);
}

#[test]
fn tree_comes_back_from_memory_over_ipv6_as_it_went() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    there_and_back(&server, &server.url6("/mem"), &scratch);
}

#[test]
fn tree_goes_from_server_to_server_and_between_exports_of_one() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(2, &["--no-root-squash", export.to_str().unwrap(), "mem:64M"]);
    let other = Server::start(1, &["--no-root-squash", "mem:64M"]);
    make_tree(&export.join("tree"));
    let expected = snapshot(&export.join("tree"));
    for way in ["version=2&proto=udp", "version=3", "version=4.0", "version=4.2"] {
        let source = format!("{}?{way}", server.url(export.join("tree")));
        for server in [&server, &other] {
            let (copy, back) = (format!("{}?{way}", server.url("/mem/copy")), scratch.path("back"));
            wharf_ok(&["cp", "-r", "--verify", &source, &copy]);
            wharf_ok(&["cp", "-r", &copy, back.to_str().unwrap()]);
            assert!(snapshot(&back) == expected, "{way}: the copy is another one");
            wharf_ok(&["rm", "-r", &copy]);
            fs::remove_dir_all(&back).unwrap();
        }
    }
    let (first, second) = (server.url(export.join("tree")), server.url(export.join("tree/below")));
    let refused = wharf(&["cp", "-r", &first, &second]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("inside of what is copied"), "{refused:?}");
}

#[test]
fn holes_stay_holes_on_every_way_of_4_2() {
    use std::os::unix::fs::MetadataExt;
    let scratch = Scratch::new();
    let (export, mem) = (scratch.dir("export"), "/mem");
    let server = Server::start(2, &["--no-root-squash", export.to_str().unwrap(), "mem:64M"]);
    let local = scratch.path("local");
    let file = fs::File::create(&local).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[7; 100_000], 3 << 20).unwrap();
    file.set_len(1 << 30).unwrap();
    let blocks = |path: &std::path::Path| fs::metadata(path).unwrap().blocks();
    let most = blocks(&local) + 64;
    let way = |path: &str| format!("{path}?version=4.2");
    let (first, second) = (way(&server.url(export.join("first"))), way(&server.url(export.join("second"))));
    let third = way(&server.url(format!("{mem}/third")));
    let back = scratch.path("back");
    wharf_ok(&["cp", local.to_str().unwrap(), &first]);
    wharf_ok(&["cp", &first, &second]);
    wharf_ok(&["cp", "-v", &second, &third]);
    wharf_ok(&["cp", &third, back.to_str().unwrap()]);
    for copy in [export.join("first"), export.join("second"), back] {
        let metadata = fs::metadata(&copy).unwrap();
        assert!(
            metadata.blocks() <= most && metadata.len() == 1 << 30,
            "{}: {} blocks",
            copy.display(),
            metadata.blocks()
        );
        let mut bytes = [0; 100_002];
        std::os::unix::fs::FileExt::read_exact_at(&fs::File::open(&copy).unwrap(), &mut bytes, (3 << 20) - 1).unwrap();
        assert!(bytes[1..100_001] == [7; 100_000] && (bytes[0], bytes[100_001]) == (0, 0), "{}", copy.display());
    }
}

#[test]
fn cat_reads_holes_by_read_plus_and_other_files_where_the_url_says_so() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let (mixed, data) = (export.join("mixed"), export.join("data"));
    let mut bytes = vec![0; 100_000];
    bytes[40_000..50_000].fill(b'x');
    fs::write(&data, &bytes).unwrap();
    let file = fs::File::create(&mixed).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes[40_000..50_000], 40_000).unwrap();
    file.set_len(100_000).unwrap();
    for (file, way, read, read_plus) in [
        (&mixed, "version=4.2", 0, 1),
        (&mixed, "version=4.2&noreadplus", 1, 0),
        (&mixed, "version=4.1&readplus", 1, 0),
        (&data, "version=4.2", 1, 0),
        (&data, "version=4.2&readplus", 0, 1),
    ] {
        let output = wharf(&["cat", "--nfsstat=json", &format!("{}?{way}", server.url(file))]);
        assert!(output.status.success() && output.stdout == bytes, "{way}: {output:?}");
        let counted: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        let calls = |name: &str| {
            let operations = counted["operations"].as_array().unwrap();
            let found = operations.iter().find(|operation| operation["name"] == name);
            found.map_or(0, |operation| operation["calls"].as_u64().unwrap())
        };
        assert_eq!((calls("READ"), calls("READ_PLUS")), (read, read_plus), "{way}");
        assert_eq!(calls("OPEN"), calls("CLOSE"), "{way}");
    }
}

#[test]
fn every_command_does_in_each_version_what_its_name_says() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let local = scratch.file("local", "some text\n");
    for way in WAYS {
        let url = |path: &str| format!("{}/{path}?{way}", server.url(&export));
        wharf_ok(&["mkdir", "-p", &url("x/y/z")]);
        wharf_ok(&["mkdir", "-p", &url("x/y/z")]);
        wharf_ok(&["cp", local.to_str().unwrap(), &url("x/y")]);
        assert_eq!(wharf_ok(&["cat", &url("x/y/local"), &url("x/y/local")]), "some text\nsome text\n");
        wharf_ok(&["mv", &url("x/y/local"), &url("x/y/z")]);
        wharf_ok(&["mv", &url("x/y/z/local"), &url("x/moved")]);
        wharf_ok(&["ln", &url("x/moved"), &url("x/hard")]);
        wharf_ok(&["ln", "-s", "moved", &url("x/soft")]);
        assert_eq!(fs::read_link(export.join("x/soft")).unwrap().to_str(), Some("moved"));
        assert_eq!(wharf_ok(&["cat", &url("x/soft")]), "some text\n");
        assert_eq!(wharf_ok(&["ls", &url("x")]), "hard\nmoved\nsoft\ny\n");
        let long = wharf_ok(&["ls", "-l", &url("x")]);
        assert!(long.contains("soft -> moved"), "{long}");
        assert!(long.lines().next().unwrap().starts_with("-rw-r--r--   2 "), "{long}");
        let tree = wharf_ok(&["ls", "-R", &url("x")]);
        assert!(tree.contains("/x/y/z:\n"), "{tree}");
        assert!(wharf_ok(&["stat", &url("x/soft")]).contains("symlink"));
        assert!(wharf_ok(&["stat", "-L", &url("x/soft")]).contains("Size: 10 "));
        wharf_ok(&["rm", &url("x/hard")]);
        wharf_ok(&["rm", "-r", &url("x")]);
        assert_eq!(fs::read_dir(&export).unwrap().count(), 0, "{way}");
    }
}

#[test]
fn copy_never_takes_what_is_there_for_its_own() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (local, url) = (scratch.file("local", "new"), server.url("/mem/file"));
    let old = scratch.file("old", "old and longer");
    wharf_ok(&["cp", old.to_str().unwrap(), &url]);
    let refused = wharf(&["cp", local.to_str().unwrap(), &url]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("exists already"));
    assert_eq!(wharf_ok(&["cat", &url]), "old and longer");
    wharf_ok(&["cp", "--overwrite", local.to_str().unwrap(), &url]);
    assert_eq!(wharf_ok(&["cat", &url]), "new");
    let refused = wharf(&["cp", &url, old.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(fs::read_to_string(&old).unwrap(), "old and longer");
}

#[test]
fn file_keeps_its_handle_and_bytes_when_the_server_comes_back() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    fs::write(export.join("file"), "kept").unwrap();
    let state = scratch.path("state-of-both");
    let arguments = [export.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
    let handle = || {
        let server = Server::start(1, &arguments);
        let json = wharf_ok(&["stat", "--json", &server.url(export.join("file"))]);
        json.lines().find(|line| line.contains("\"handle\"")).unwrap().to_owned()
    };
    assert_eq!(handle(), handle());
}

#[test]
fn more_directories_than_wait_at_once_keep_their_modes_and_times() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::time::{Duration, SystemTime};
    const DIRECTORIES: u64 = 4200;
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let (tree, back, remote) = (scratch.dir("tree"), scratch.path("back"), server.url("/mem/copy"));
    for number in 0..DIRECTORIES {
        let dir = tree.join(format!("{}/{number}", number % 10));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("file"), "").unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o500 + number as u32 % 0o70)).unwrap();
        fs::File::open(&dir).unwrap().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(number)).unwrap();
    }
    wharf_ok(&["cp", "-r", tree.to_str().unwrap(), &remote]);
    wharf_ok(&["cp", "-r", &remote, back.to_str().unwrap()]);
    for number in 0..DIRECTORIES {
        let metadata = fs::metadata(back.join(format!("{}/{number}", number % 10))).unwrap();
        let expected = (0o500 + number as u32 % 0o70, number as i64);
        assert_eq!((metadata.mode() & 0o7777, metadata.mtime()), expected, "{number}");
    }
}

#[test]
fn tree_deeper_than_paths_is_refused() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let top = scratch.dir("top");
    fs::create_dir_all(top.join("d/".repeat(1030))).unwrap();
    let refused = wharf(&["cp", "-r", top.to_str().unwrap(), &server.url("/mem/copy")]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("more than 1024 directories deep"));
}
