//! `wharf tcp stream`, `rr`, `listen`, `wire` and `model` as users run them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, Signal, kill_process};

use testing::program::namespace::{Namespace, is_installed};
use testing::{PATIENCE, wait_until};

fn wharf(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    command.arg("tcp").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits until data goes over a connection: the thread of this name has waited for its peer a few times.
fn wait_for_data(child: &Child, thread: &str) {
    let is_under_way = |task: &Path| {
        let status = fs::read_to_string(task.join("status")).unwrap_or_default();
        let value = |key| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let waits = value("voluntary_ctxt_switches:").and_then(|waits| waits.parse().ok());
        value("Name:") == Some(thread) && waits.is_some_and(|waits: u32| waits >= 20)
    };
    wait_until("data flows", || {
        let mut tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        tasks.any(|task| is_under_way(&task.unwrap().path()))
    });
}

/// The runs that a command shows as JSON.
fn runs(output: &Output) -> Vec<serde_json::Value> {
    assert!(output.status.success(), "{output:?}");
    let runs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    runs.as_array().unwrap().clone()
}

/// Whether a TAP device can be made; says why not.
fn can_stream() -> bool {
    let output = wharf(&["stream", "--bytes", "1"]).output().unwrap();
    if !output.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    output.status.success()
}

#[test]
fn stream_reaches_the_kernel_under_each_rule() {
    if !can_stream() {
        return;
    }
    let output = wharf(&["stream", "--bytes", "4M", "--json"]).output().unwrap();
    let runs = runs(&output);
    assert_eq!(runs.iter().map(|run| run["rule"].as_str().unwrap()).collect::<Vec<_>>(), ["before", "after", "today"]);
    for series in &runs {
        let run = &series["runs"][0];
        assert_eq!((run["received_bytes"].as_u64(), run["mss_bytes"].as_u64()), (Some(4 << 20), Some(1448)));
        assert!(run["supers"].as_u64().unwrap() > 20, "{run}");
    }
}

#[test]
fn streams_are_repeated_until_they_are_known_well_enough_or_often_enough() {
    if !can_stream() {
        return;
    }
    let arguments = ["stream", "--bytes", "256K", "--rule", "after", "-I", "95,0.0001", "-i", "4,2", "--json"];
    let runs = runs(&wharf(&arguments).output().unwrap());
    assert_eq!(runs[0]["runs"].as_array().unwrap().len(), 4);
    assert!(runs[0]["bits_per_second"]["half_interval_share"].as_f64().unwrap() > 0.0);
    let output = wharf(&["stream", "--bytes", "64K", "--rule", "after", "-i", "2,2", "--buffers"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.lines().count() >= 9 && shown.contains("8388608") && shown.contains("±"), "{shown}");
}

#[test]
fn interrupted_stream_shows_what_was_sent() {
    if !can_stream() {
        return;
    }
    let child = wharf(&["stream", "--time", "60s", "--read-rate", "1M", "--rule", "after"]).spawn().unwrap();
    wait_for_data(&child, "sender");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let (shown, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.signal(), Some(2), "{said}");
    assert!(shown.contains("after  ") && shown.contains("iB"), "{shown}");
    assert!(said.contains("interrupted; the figures cover the data sent until then"), "{said}");
}

#[test]
fn stream_without_rights_says_what_to_do() {
    let mut command = wharf(&["stream", "--bytes", "1M"]);
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let Ok(output) = command.output() else {
        println!("skipped: the program cannot be run as somebody else from here");
        return;
    };
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
    assert!(
        said.contains("run this with sudo, or, where /dev/net/tun is open to everyone, as unshare -rn wharf"),
        "{said}"
    );
}

#[test]
fn model_shows_where_single_segments_come_from() {
    let output = wharf(&["model", "--bytes", "16M", "--json"]).output().unwrap();
    let runs = runs(&output);
    assert_eq!(runs.len(), 9);
    let single = |limit: &str, rule: &str| {
        let run = runs.iter().find(|run| run["limit"] == limit && run["rule"] == rule).unwrap();
        run["single_mss"].as_f64().unwrap() / run["data_packets"].as_f64().unwrap()
    };
    assert!(single("receiver", "before") > 0.2 && single("receiver", "after") < 0.15);
    assert!(single("sender", "before") < 0.01 && single("window", "before") < 0.01);
    let pairs =
        wharf(&["model", "--bytes", "1M", "--buffers", "--limit", "receiver", "--rule", "after"]).output().unwrap();
    assert_eq!(String::from_utf8(pairs.stdout).unwrap().lines().count(), 9);
}

/// The settings of the receiver decide how many single-MSS packets there are, and a scan finds those of the trace.
#[test]
fn scan_of_the_model_finds_the_packets_of_the_document() {
    let knobs = ["--updates", "segment", "--window-scale", "6", "--frees", "read", "--interrupt-gap", "4"];
    let scan = ["model", "--bytes", "32M", "--scan", "--best", "2", "--jitter", "0", "--acks", "each", "--json"];
    let output = wharf(&[&scan[..], &knobs].concat()).output().unwrap();
    let fits = runs(&output);
    assert_eq!(fits.len(), 2, "{output:?}");
    let distance = |fit: &serde_json::Value| fit["distance_percent"].as_f64().unwrap();
    assert!(distance(&fits[0]) < 15.0 && distance(&fits[0]) <= distance(&fits[1]), "{fits:?}");
    // The flags that it shows give the same packets.
    let flags: Vec<&str> = fits[0]["flags"].as_str().unwrap().split(' ').collect();
    let one = ["model", "--bytes", "32M", "--limit", "receiver", "--rule", "before", "--json"];
    let run = &runs(&wharf(&[&one[..], &flags].concat()).output().unwrap())[0];
    assert_eq!((&run["data_packets"], &run["single_mss"]), (&fits[0]["data_packets"][0], &fits[0]["single_mss"][0]));
}

/// `wharf tcp listen` on a port of its own.
struct Listener {
    child: Child,
    address: String,
}

impl Listener {
    fn new() -> Listener {
        let mut child = wharf(&["listen", "127.0.0.1:0"]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on ").unwrap().split(';').next().unwrap().to_owned();
        Listener { child, address }
    }

    /// What a test with it shows as JSON.
    fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let output = wharf(&[&[arguments[0], &self.address], &arguments[1..], &["--json"]].concat()).output().unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A socket that is connected to it, from another address of this machine.
    fn stranger(&self) -> TcpStream {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &"127.0.0.2:0".parse::<SocketAddr>().unwrap()).unwrap();
        rustix::net::connect(&socket, &self.address.parse::<SocketAddr>().unwrap()).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn streams_between_two_ends_carry_what_was_asked_for_in_either_direction() {
    let listener = Listener::new();
    const BYTES: u64 = 5_000_001;
    for (flag, out, back) in [("-l64K", BYTES, 0), ("--reverse", 0, BYTES), ("--both", BYTES, BYTES)] {
        let series = listener.json(&["stream", "-P", "3", "--bytes", "5000001", flag]);
        let run = &series[0]["runs"][0];
        let bytes = |end: &str, what: &str| run[end][what].as_u64().unwrap();
        let seen = [
            ("local", "sent_bytes"),
            ("remote", "received_bytes"),
            ("remote", "sent_bytes"),
            ("local", "received_bytes"),
        ];
        assert_eq!(seen.map(|(end, what)| bytes(end, what)), [out, out, back, back], "{flag}");
        assert!(["local", "remote"].iter().all(|end| run[end]["process_s"].as_f64().unwrap() > 0.0), "{run}");
        assert_eq!(run["is_same_machine"], true);
        assert_eq!(run["bits_per_second_out"].as_f64().unwrap() > 0.0, out > 0);
    }
    let timed = listener.json(&["stream", "--time", "300ms", "-i", "2,2"]);
    let runs = timed[0]["runs"].as_array().unwrap();
    // The receiving end counts from its first byte, and so a little less than the sending one.
    assert!(runs.len() == 2 && runs.iter().all(|run| run["local"]["elapsed_s"].as_f64().unwrap() >= 0.3), "{timed}");
    let pairs = listener.json(&["stream", "--bytes", "256K", "--buffers"]);
    assert_eq!(pairs.as_array().unwrap().len(), 8);
}

#[test]
fn requests_are_answered_with_their_latencies_counted() {
    let listener = Listener::new();
    let test = listener.json(&["rr", "-n", "1001", "-P", "2", "-r", "100,70000"]);
    let run = &test["runs"][0];
    assert_eq!((&run["transactions"], &run["remote"]["sent_bytes"]), (&1001.into(), &70_070_000.into()));
    let latency = |name: &str| run["latency_ns"][name].as_u64().unwrap();
    assert!(0 < latency("min") && latency("min") <= latency("p50") && latency("p99") <= latency("max"), "{run}");
}

#[test]
fn interrupted_test_between_two_ends_keeps_its_results_and_another_one_at_that_time_is_refused() {
    let listener = Listener::new();
    for (arguments, name) in [(["stream", "-R"], "Mbit/s in"), (["rr", "-r1,1"], "per second")] {
        let child = wharf(&[arguments[0], &listener.address, arguments[1], "--time", "60s"]).spawn().unwrap();
        wait_for_data(&child, "stream");
        let second = wharf(&["stream", &listener.address, "--bytes", "1"]).output().unwrap();
        let said = String::from_utf8(second.stderr).unwrap();
        assert!(said.contains("refuses the test: another test is running; try again when it has ended"), "{said}");
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let (shown, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.signal(), Some(2), "{said}");
        assert!(shown.contains(name) && shown.lines().count() >= 2, "{shown}");
        assert!(said.contains("interrupted; the figures cover the data sent until then"), "{said}");
    }
    listener.json(&["stream", "--bytes", "1"]);
}

#[test]
fn listener_serves_others_while_a_peer_says_nothing_or_rubbish() {
    let listener = Listener::new();
    let mut silent: Vec<_> = (0..20).map(|_| listener.stranger()).collect();
    // An address has eight places; who comes later is sent away at once.
    silent[8..].iter_mut().for_each(|stream| assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_))));
    listener.json(&["stream", "--bytes", "1M"]);
    drop(silent);
    let huge = [&b"wharftcp"[..], &u32::MAX.to_be_bytes()].concat();
    let test = br#"{"Start":{"version":1,"test":{"kind":{"Requests":{"request_bytes":1,"response_bytes":999999999999}},"connections":1,"total":1,"duration":null,"send_buffer_bytes":null,"receive_buffer_bytes":null}}}"#;
    let greedy = [&b"wharftcp"[..], &(test.len() as u32).to_be_bytes(), test].concat();
    for (rubbish, answer) in [(&b"GET / HTTP/1"[..], "no wharf tcp listen"), (&huge, "no wharf"), (&greedy, "1 MiB")] {
        wait_until("the stranger is answered", || {
            let mut stream = listener.stranger();
            let mut said = Vec::new();
            // The places of those who have gone are free before long.
            stream.write_all(rubbish).is_ok() && stream.read_to_end(&mut said).is_ok() && {
                let said = String::from_utf8_lossy(&said).into_owned();
                assert!(said.is_empty() || said.contains(answer), "{said}");
                !said.is_empty()
            }
        });
    }
    listener.json(&["rr", "-n", "1"]);
}

#[test]
fn test_without_its_other_end_says_what_to_do() {
    let said = |address: &str| {
        let output = wharf(&["stream", address, "--time", "60s"]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let expected =
        format!("wharf: cannot connect to {nobody}: Connection refused (os error 111); start wharf tcp listen there");
    assert!(said(&nobody).starts_with(&expected), "{}", said(&nobody));
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    thread::spawn(move || other.accept().unwrap().0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    assert!(said(&address).contains("is no wharf tcp listen of this version; check the port"));
    let mut listener = Listener::new();
    let child = wharf(&["stream", &listener.address, "--time", "60s"]).spawn().unwrap();
    wait_for_data(&child, "stream");
    listener.child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("during the test: ") && text.contains("see whether wharf still runs there"), "{text}");
    let taken = Listener::new();
    let output = wharf(&["listen", &taken.address]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("Address already in use (os error 98); name another address and port"), "{text}");
}

#[test]
fn wire_has_a_row_for_each_sender_with_and_without_offload() {
    if !can_stream() || Namespace::new().is_none() {
        return;
    }
    let output = wharf(&["wire", "--rate", "100M", "--bytes", "256K", "-i", "6,6", "--json"]).output().unwrap();
    let all = runs(&output);
    let names: Vec<_> = all.iter().map(|series| series["sender"].as_str().unwrap()).collect();
    assert_eq!(names, ["before", "after", "today", "kernel", "before", "after", "today", "kernel"]);
    for series in &all {
        let run = &series["runs"][5];
        // 182 frames carry 256 KiB with 1448 bytes each.
        assert!(run["bytes"] == 256 << 10 && run["frames"].as_u64().unwrap() >= 182, "{series}");
        assert_eq!(series["speed_to_before"].is_null(), series["sender"] == "before", "{series}");
    }
    assert!(all[6]["runs"][0]["data_packets"].as_u64().unwrap() >= 182);
    let output = wharf(&["wire", "--bytes", "1"]).env("PATH", "").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "wharf: there is no program ip; install iproute2\n");
}

/// A wire with 100 Mbit/s, on which `wharf tcp` and iperf3 take turns; prints a line of bits per second for each.
const IPERF: &str = r#"
set -e
listen= server=
trap 'kill $listen $server 2>/dev/null || true' EXIT
ip netns add peer
ip link add v0 type veth peer name v1 netns peer
ip addr add 10.9.0.1/24 dev v0 && ip link set v0 up
ip -n peer addr add 10.9.0.2/24 dev v1 && ip -n peer link set v1 up
tc qdisc add dev v0 root tbf rate 100mbit burst 64kb limit 8mb overhead 24 peakrate 400gbit mtu 1538
for round in 1 2 3; do
  ip netns exec peer "$1" tcp listen --once 10.9.0.2:5210 >"$2/listen.$round" & listen=$!
  until grep -qs listening "$2/listen.$round"; do sleep 0.05; done
  "$1" tcp stream 10.9.0.2 --bytes 6M --json >"$2/wharf.$round"
  wait $listen
  listen=
  ip netns exec peer iperf3 --server --one-off >"$2/server" & server=$!
  until ip netns exec peer ss -ltn | grep -q :5201; do sleep 0.05; done
  iperf3 --client 10.9.0.2 --bytes 6M --json >"$2/iperf.$round"
  wait $server
  server=
done
"#;

/// By how much the two may differ, and how often the comparison is made until they agree: other processes delay either.
const BOUND: f64 = 0.05;
const TRIES: usize = 5;

#[test]
fn speed_is_that_of_iperf3_on_the_same_wire() {
    if !is_installed("iperf3") {
        println!("skipped: there is no iperf3; install it");
        return;
    }
    let mut seen = Vec::new();
    while seen.len() < TRIES {
        let Some(namespace) = Namespace::new() else { return };
        let scratch = testing::Scratch::new();
        let program = env!("CARGO_BIN_EXE_wharf");
        let output = namespace.command("sh").args(["-c", IPERF, "sh", program]).arg(scratch.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let median = |name: &str, pointer: &str| {
            let speed = |round: u32| {
                let text = fs::read(scratch.path(&format!("{name}.{round}"))).unwrap();
                let shown: serde_json::Value = serde_json::from_slice(&text).unwrap();
                shown.pointer(pointer).unwrap().as_f64().unwrap()
            };
            let mut speeds = [1, 2, 3].map(speed);
            speeds.sort_by(f64::total_cmp);
            speeds[1]
        };
        let ours = median("wharf", "/0/bits_per_second_out/mean");
        let iperf = median("iperf", "/end/sum_received/bits_per_second");
        seen.push((ours, iperf));
        if (ours / iperf - 1.0).abs() <= BOUND {
            return;
        }
    }
    panic!("{seen:?}");
}
