//! What commands print, and how they fail.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use testing::program::{Server, interrupt, wharf, wharf_fails, wharf_ok};
use testing::{PATIENCE, Scratch, wait_until};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn output_of_data_is_also_there_as_json() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    fs::write(export.join("file"), "12345").unwrap();
    let server = Server::start(1, &[export.to_str().unwrap()]);
    let host = server.address().to_string();

    let listing = json(&wharf_ok(&["ls", "--json", &server.url(&export)]));
    assert_eq!(listing[0]["size_bytes"], 5);
    assert_eq!(listing[0]["path"], export.join("file").to_str().unwrap());
    let stat = json(&wharf_ok(&["stat", "--json", &server.url(&export)]));
    assert_eq!(stat[0]["kind"], "directory");
    let exports = json(&wharf_ok(&["showmount", "-e", "--json", &host]));
    assert_eq!(exports[0]["directory"], export.to_str().unwrap());
    // NFSv4 has no list of mounts.
    wharf_ok(&["ls", "--version", "3", &server.url(&export)]);
    let mounts = json(&wharf_ok(&["showmount", "-a", "--json", &host]));
    assert_eq!(mounts[0]["host"], "127.0.0.1");
    let services = json(&wharf_ok(&["rpcinfo", "--json", &host]));
    let services = services.as_array().unwrap();
    assert!(services.iter().any(|service| service["service"] == "nfs" && service["port"] == server.port()));
}

#[test]
fn directory_with_more_names_than_the_limit_is_refused_by_each_command_that_lists_it() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    fs::create_dir(export.join("many")).unwrap();
    (0..4).for_each(|number| fs::write(export.join(format!("many/{number}")), "").unwrap());
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let url = server.url(export.join("many"));
    for version in ["2", "3", "4.0", "4.2"] {
        let (flags, copy) = (["--version", version, "--max-names"], scratch.path(&format!("copy-{version}")));
        assert_eq!(wharf_ok(&[&["ls"], &flags[..], &["4", &url]].concat()).lines().count(), 4, "NFSv{version}");
        for command in [vec!["ls", &url], vec!["cp", "-r", &url, copy.to_str().unwrap()], vec!["rm", "-r", &url]] {
            let said = wharf_fails(1, &[&command[..1], &flags[..], &["0"], &command[1..]].concat());
            assert!(said.contains("more than 0 entries") && said.contains("--max-names"), "{command:?}: {said}");
        }
    }
}

#[test]
fn bench_tells_figures_as_text_and_as_json() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let arguments = ["bench", "--rw", "randread", "--bs", "4K", "--iodepth", "8", "--runtime", "200ms", "--size", "8M"];
    let url = server.url("/mem");
    let text = wharf_ok(&[&arguments[..], &[&url]].concat());
    assert!(text.contains("IOPS=") && text.contains("99.00th"), "{text}");
    let run = json(&wharf_ok(&[&arguments[..], &["--json", &url]].concat()));
    assert!(run["jobs"][0]["read"]["iops"].as_f64().unwrap() > 0.0);
    assert_eq!(wharf_ok(&["ls", "-a", &url]), "", "the file of the benchmark is left behind");
}

#[test]
fn failure_names_the_file_and_the_reason_and_ends_with_1() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:1M"]);
    let (url, local) = (server.url("/mem/missing"), scratch.path("missing"));
    let local = local.to_str().unwrap();
    wharf_ok(&["mkdir", &server.url("/mem/dir")]);
    for (arguments, parts) in [
        (&["cat", &url][..], &[url.as_str(), "no such file"][..]),
        (&["ls", &url], &[&url, "no such file"]),
        (&["stat", &url], &[&url, "no such file"]),
        (&["rm", &url], &[&url, "no such file"]),
        (&["mv", &url, &server.url("/mem/x")], &[&url, "no such file"]),
        (&["mkdir", &server.url("/mem/missing/x")], &["/mem/missing/x", "no such file"]),
        (&["mkdir", &server.url("/mem/dir")], &["/mem/dir", "file exists"]),
        (&["rm", &server.url("/mem/dir")], &["/mem/dir", "is a directory", "-r"]),
        (&["ln", &server.url("/mem/dir"), &server.url("/mem/other")], &["/mem/dir: is a directory", "-s"]),
        (&["cat", &server.url("/mem/dir")], &["/mem/dir", "is a directory; wharf ls lists it"]),
        (&["rm", "-r", &server.url("/mem")], &["/mem", "this is the export itself"]),
        (&["rm", "-r", &server.url("/mem?version=4.2")], &["/mem", "this is the export itself"]),
        (&["mv", &server.url("/mem"), &server.url("/mem/x")], &["/mem", "this is the export itself"]),
        (&["mv", &server.url("/mem/dir"), &server.url("/mem/dir/x")], &["/mem/dir cannot be moved to", "inside of it"]),
        (&["mkdir", &server.url("/mem")], &["/mem", "this is the export itself"]),
        (&["cp", local, &server.url("/mem/x")], &[local, "No such file"]),
        (&["cp", &url, local], &[&url, "no such file"]),
        (&["cp", local, local], &["nfs://"]),
        (&["cp", &url, &url], &[&url, "no such file"]),
        (&["ls", &server.url("/elsewhere")], &["/elsewhere", "no such file"]),
        (&["ls", "nfs://127.0.0.1:1/x"], &["127.0.0.1:1", "check that the server runs"]),
        (&["ls", "nfs://127.0.0.9/x"], &["127.0.0.9:2049", "check that the server runs"]),
        (&["ls", "nfs://127.0.0.9/x?version=3"], &["127.0.0.9:111", "name the server's port"]),
        (&["showmount", "127.0.0.1:1"], &["127.0.0.1:1"]),
        (&["rpcinfo", "127.0.0.1:1"], &["127.0.0.1:1"]),
    ] {
        let said = wharf_fails(1, arguments);
        assert!(parts.iter().all(|part| said.contains(part)), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn reader_that_has_seen_enough_is_no_failure() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let scratch = Scratch::new();
    let large = scratch.path("large");
    fs::write(&large, vec![b'x'; 8 << 20]).unwrap();
    wharf_ok(&["cp", large.to_str().unwrap(), &server.url("/mem/large")]);
    let mut cat = Command::new(env!("CARGO_BIN_EXE_wharf"))
        .args(["cat", &server.url("/mem/large")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(cat.stdout.take());
    let output = cat.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn interrupted_demonstration_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let temp = scratch.dir("temp");
    let mut demo = Command::new(env!("CARGO_BIN_EXE_wharf"))
        .arg("demo")
        .env("TMPDIR", &temp)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while fs::read_dir(&temp).unwrap().next().is_none() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(700));
    kill_process(Pid::from_child(&demo), Signal::INT).unwrap();
    assert_eq!(demo.wait().unwrap().signal(), Some(Signal::INT.as_raw()));
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0);
}

#[test]
fn demonstration_ends_quietly_when_nobody_reads_it() {
    let scratch = Scratch::new();
    let temp = scratch.dir("temp");
    let mut demo = Command::new(env!("CARGO_BIN_EXE_wharf"));
    demo.arg("demo").env("TMPDIR", &temp).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut demo = demo.spawn().unwrap();
    drop(demo.stdout.take());
    let output = demo.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0);
}

#[test]
fn demonstration_shows_the_old_versions_and_the_new_ones() {
    let scratch = Scratch::new();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_wharf"));
    demo.arg("demo").env("TMPDIR", scratch.dir("temp")).stdout(Stdio::piped());
    let mut demo = demo.spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map_while(Result::ok);
    for way in ["in  over NFSv3, TCP", "out over NFSv2, TCP", "out over NFSv4.2, TCP", "by the server, NFSv4.2"] {
        assert!(lines.any(|line| line.contains(way)), "{way}");
    }
    assert!(lines.next().unwrap().contains("no difference"));
    kill_process(Pid::from_child(&demo), Signal::INT).unwrap();
    assert_eq!(demo.wait().unwrap().signal(), Some(Signal::INT.as_raw()));
}

#[test]
fn server_that_does_not_answer_is_given_up_with_the_option_to_wait_longer() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nfs://{}/export", silent.local_addr().unwrap());
    let said = wharf_fails(1, &["ls", "--timeout", "50ms", "--retrans", "1", &url]);
    assert!(said.contains(" to 2 sends; ") && said.contains("timeo, retrans or hard"), "{said}");
}

#[test]
fn copy_that_the_server_makes_is_cancelled_when_it_is_interrupted() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "--fault", "write:delay=200ms", "mem:128M"]);
    let size = 40 << 20;
    let local = scratch.path("local");
    fs::write(&local, vec![1; size]).unwrap();
    let (url, copy) = (server.url("/mem/file?version=4.2"), server.url("/mem/copy?version=4.2"));
    wharf_ok(&["cp", local.to_str().unwrap(), &url]);
    let copied = || -> Option<u64> {
        let output = wharf(&["stat", "--json", &copy]);
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        told[0]["size_bytes"].as_u64()
    };
    let said = interrupt(&["cp", &url, &copy], || copied().is_some_and(|bytes| bytes > 0));
    assert!(said.contains("interrupted"), "{said}");
    // A write that is in flight may still be made. A copy that goes on comes to its end.
    let mut left = copied().unwrap();
    wait_until("nothing more is copied", || {
        std::thread::sleep(Duration::from_secs(1));
        std::mem::replace(&mut left, copied().unwrap()) == left
    });
    assert!(left < size as u64, "{left} of {size}");
}

#[test]
fn interrupted_benchmark_leaves_no_file_behind() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let url = server.url("/mem");
    let said = interrupt(&["bench", "--size", "1M", "--runtime", "60s", &url], || !wharf_ok(&["ls", &url]).is_empty());
    assert!(said.contains("interrupted"), "{said}");
    assert_eq!(wharf_ok(&["ls", &url]), "");
}

/// The kernel ignores the default action of a signal for the first process of a namespace.
#[test]
fn first_process_of_a_container_that_is_interrupted_ends_with_the_status_of_a_shell() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let url = server.url("/mem");
    let own_namespace = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child"];
    if !Command::new("unshare").args(own_namespace).arg("true").status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no namespace of processes can be made here");
    }
    let mut command = Command::new("unshare");
    command.args(own_namespace).arg(env!("CARGO_BIN_EXE_wharf")).args([
        "bench",
        "--size",
        "1M",
        "--runtime",
        "60s",
        &url,
    ]);
    let mut unshare = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while wharf_ok(&["ls", &url]).is_empty() {
        assert!(began.elapsed() < PATIENCE, "the benchmark does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let children = format!("/proc/{0}/task/{0}/children", unshare.id());
    let first = fs::read_to_string(children).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(first).unwrap(), Signal::INT).unwrap();
    assert_eq!(unshare.wait().unwrap().code(), Some(130));
    assert_eq!(wharf_ok(&["ls", &url]), "");
}
