//! `wharf tcp trace` on captures that tcpdump made of Wharf's traffic, beside tshark; and on files that are no
//! captures.

use std::fs;
use std::process::{Command, Output};

use testing::Scratch;
use testing::program::namespace::{Namespace, is_installed};

/// Makes a veth pair with the server on one side, captures there and on the loopback device, and runs the client on
/// both. `$1` is Wharf, `$2` where the captures go, `$3` the most segments of a super-segment.
const CAPTURE: &str = r#"
set -e
# Whoever is left would keep the test waiting for the end of its output.
trap 'kill $server $veth $any 2>/dev/null || :' EXIT
ip netns add peer
ip link add v0 gso_max_segs $3 type veth peer name v1 netns peer
ip addr add 10.9.0.1/24 dev v0 && ip link set v0 up
ip -n peer addr add 10.9.0.2/24 dev v1 && ip -n peer link set v1 up
"$1" serve mem:16M --listen 0.0.0.0:2049 --client 10.9.0.0/24 --client 127.0.0.1 --state-dir "$2/state" >&2 &
server=$!
tcpdump -Z root -U --immediate-mode -B 65536 -s 128 -i v0 -w "$2/veth.pcap" tcp 2>"$2/veth.log" & veth=$!
tcpdump -Z root -U --immediate-mode -B 65536 -s 128 -i any -w "$2/any.pcap" tcp 2>"$2/any.log" & any=$!
until grep -q listening "$2/veth.log" && grep -q listening "$2/any.log"; do sleep 0.1; done
ip netns exec peer "$1" bench nfs://10.9.0.1/mem?nfsport=2049 --rw write,read --bs 64k --iodepth 4 --size 16M >&2
"$1" bench nfs://127.0.0.1/mem?nfsport=2049 --rw write,read --bs 64k --iodepth 4 --size 16M >&2
sleep 0.5
kill -INT $veth $any && wait $veth $any
kill $server && wait $server || true
echo done
"#;

#[test]
fn counts_are_those_of_tshark_with_and_without_offload() {
    if ["tcpdump", "tshark"].into_iter().any(|program| !is_installed(program)) {
        println!("skipped: there is no tcpdump or no tshark; install tcpdump and tshark");
        return;
    }
    for max_segments in ["64", "1"] {
        let scratch = Scratch::new();
        let Some(namespace) = Namespace::new() else { return };
        let folder = scratch.path("");
        let wharf = env!("CARGO_BIN_EXE_wharf");
        let output =
            namespace.command("sh").args(["-c", CAPTURE, "sh", wharf]).arg(&folder).arg(max_segments).output().unwrap();
        assert_eq!(output.stdout, b"done\n", "{}", String::from_utf8_lossy(&output.stderr));
        for name in ["veth.pcap", "any.pcap"] {
            assert_same_counts(scratch.path(name).to_str().unwrap());
        }
    }
}

fn assert_same_counts(capture: &str) {
    let output = wharf(&["tcp", "trace", "--json", "--mss", "1448", capture]);
    assert!(output.status.success(), "{output:?}");
    let trace: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let lengths = tshark_lengths(capture);
    let expected = |matches: &dyn Fn(u64) -> bool| lengths.iter().filter(|length| matches(**length)).count() as u64;
    let counted = |field: &str| {
        let connections = trace["connections"].as_array().unwrap().iter();
        connections.map(|connection| connection[field].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(trace["tcp_packets"], lengths.len() as u64, "{capture}");
    assert_eq!(counted("data_packets"), expected(&|length| length > 0), "{capture}");
    assert_eq!(counted("single_mss"), expected(&|length| length == 1448), "{capture}");
    assert_eq!(counted("full"), expected(&|length| length > 0 && length % 1448 == 0), "{capture}");
    assert_eq!(counted("fractional"), expected(&|length| length % 1448 > 0), "{capture}");
    assert_eq!(counted("supers"), expected(&|length| length > 1448), "{capture}");
    assert_eq!(counted("data_bytes"), lengths.iter().sum::<u64>(), "{capture}");
    assert!(counted("data_packets") > 100, "{capture}");
}

fn tshark_lengths(capture: &str) -> Vec<u64> {
    let output = Command::new("tshark").args(["-r", capture, "-Y", "tcp", "-T", "fields", "-e", "tcp.len"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Makes a veth pair like the one above, and captures at both ends, each of which is a sender's; `$3` is as above.
const SENDERS: &str = r#"
set -e
trap 'kill $server $v0 $v1 2>/dev/null || :' EXIT
ip netns add peer
ip link add v0 gso_max_segs $3 type veth peer name v1 netns peer gso_max_segs $3
ip addr add 10.9.0.1/24 dev v0 && ip link set v0 up
ip -n peer addr add 10.9.0.2/24 dev v1 && ip -n peer link set v1 up
"$1" serve mem:80M --listen 0.0.0.0:2049 --client 10.9.0.0/24 --state-dir "$2/state" >&2 &
server=$!
tcpdump -Z root -U --immediate-mode -B 65536 -s 128 -i v0 -w "$2/server.pcap" tcp 2>"$2/v0.log" & v0=$!
ip netns exec peer tcpdump -Z root -U --immediate-mode -B 65536 -s 128 -i v1 -w "$2/client.pcap" tcp 2>"$2/v1.log" &
v1=$!
until grep -q listening "$2/v0.log" && grep -q listening "$2/v1.log"; do sleep 0.1; done
for way in write read; do
  ip netns exec peer "$1" bench nfs://10.9.0.1/mem?nfsport=2049 --rw $way --bs 64k --iodepth 16 --size 32M >&2
done
sleep 0.5
kill -INT $v0 $v1 && wait $v0 $v1
kill $server && wait $server || true
echo done
"#;

/// How often traffic is looked at until no packet is early: the kernel may handle an acknowledgment later than the
/// capture has it, so that it explains a packet and does not seem to.
const TRIES: usize = 3;

#[test]
fn no_single_segment_of_64_kib_replies_and_writes_leaves_early_with_offload() {
    if !is_installed("tcpdump") {
        println!("skipped: there is no tcpdump; install it");
        return;
    }
    let Some(without) = early_packets("1") else { return };
    assert!(without.iter().all(|(_, early)| *early > 1000), "{without:?}");
    let mut seen = Vec::new();
    while seen.len() < TRIES {
        let Some(with) = early_packets("64") else { return };
        assert!(with.iter().all(|(supers, _)| *supers > 100), "{with:?}");
        if with.iter().all(|(_, early)| *early == 0) {
            return;
        }
        seen.push(with);
    }
    panic!("{seen:?}");
}

/// Super-segments and early packets of the server's replies, and of the client's WRITEs.
fn early_packets(max_segments: &str) -> Option<[(u64, u64); 2]> {
    let scratch = Scratch::new();
    let namespace = Namespace::new()?;
    let mut command = namespace.command("sh");
    command.args(["-c", SENDERS, "sh", env!("CARGO_BIN_EXE_wharf")]).arg(scratch.path("")).arg(max_segments);
    let output = command.output().unwrap();
    assert_eq!(output.stdout, b"done\n", "{}", String::from_utf8_lossy(&output.stderr));
    Some([("server", true), ("client", false)].map(|(name, is_server)| {
        let trace = traced(scratch.path(&format!("{name}.pcap")).to_str().unwrap());
        let connections = trace["connections"].as_array().unwrap().iter();
        let sender = connections.filter(|flow| flow["from"].as_str().unwrap().ends_with(":2049") == is_server);
        sender.fold((0, 0), |(supers, early), flow| {
            (supers + flow["supers"].as_u64().unwrap(), early + flow["early_single_mss"].as_u64().unwrap())
        })
    }))
}

#[test]
fn packets_of_the_tap_device_are_those_that_tcpdump_and_tshark_count() {
    if ["tcpdump", "tshark"].into_iter().any(|program| !is_installed(program)) {
        println!("skipped: there is no tcpdump or no tshark; install tcpdump and tshark");
        return;
    }
    let scratch = Scratch::new();
    let file = scratch.path("capture");
    let file = file.to_str().unwrap();
    for arguments in [&["before"][..], &["after"], &["today"], &["after", "--no-offload"], &["today", "--loss", "1"]] {
        let stream = ["tcp", "stream", "--bytes", "8M", "--json", "--capture", file, "--rule"];
        let output = wharf(&[&stream, arguments].concat());
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("superuser") || said.contains("/dev/net/tun"), "{said}");
            println!("skipped: {}", said.trim());
            return;
        }
        let sent: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let trace = traced(file);
        let connections = trace["connections"].as_array().unwrap();
        let flow = connections.iter().find(|flow| flow["data_packets"] != 0).unwrap();
        // What a fault lets disappear is not on the device.
        let is_whole = !arguments.contains(&"--loss");
        for count in ["data_packets", "single_mss", "full", "fractional", "supers", "wire_packets"] {
            let (sent, captured) = (sent[0]["runs"][0][count].as_u64().unwrap(), flow[count].as_u64().unwrap());
            assert!(
                if is_whole { sent == captured } else { sent >= captured },
                "{arguments:?} {count} {sent} {captured}"
            );
        }
        assert_same_counts(file);
    }
    let output = wharf(&["tcp", "stream", "--rule", "today", "--bytes", "1M", "--capture", "/none/capture"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("wharf: cannot capture to /none/capture: tcpdump ends early: "), "{said}");
    assert!(said.contains("No such file or directory"), "{said}");
}

fn traced(capture: &str) -> serde_json::Value {
    let output = wharf(&["tcp", "trace", "--json", capture]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn files_that_are_no_captures_end_with_what_to_do() {
    let scratch = Scratch::new();
    let failure = |path: &str| {
        let output = wharf(&["tcp", "trace", path]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let file = scratch.file("text", "this is no capture, and long enough to be told from one");
    let file = file.to_str().unwrap();
    let expected = format!("wharf: {file}: this is no capture in pcap or pcapng format; tcpdump -w FILE writes one\n");
    assert_eq!(failure(file), expected);
    let folder = scratch.path("");
    let folder = folder.to_str().unwrap();
    assert_eq!(failure(folder), format!("wharf: {folder}: cannot read the capture: Is a directory (os error 21)\n"));
    assert_eq!(failure("/none"), "wharf: /none: No such file or directory (os error 2)\n");
}

#[test]
fn truncated_capture_is_shown_as_far_as_it_goes() {
    let scratch = Scratch::new();
    let file = scratch.path("capture");
    let chart = scratch.path("chart.svg");
    fs::write(&file, one_and_a_half_packets()).unwrap();
    let (file, chart) = (file.to_str().unwrap(), chart.to_str().unwrap());
    let output = wharf(&["tcp", "trace", file, "--interval", "1ms", "--svg", chart]);
    let (shown, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(said.contains("truncated behind packet 1"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(shown.contains("10.0.0.1:700  10.0.0.2:2049  1460?") && shown.contains("0.000 s"), "{shown}");
    assert!(fs::read_to_string(chart).unwrap().contains("single-MSS"));
}

/// A packet with 4 bytes of data on a link without header, and a part of the next one.
fn one_and_a_half_packets() -> Vec<u8> {
    let mut file = vec![0; 24 + 16 + 44 + 8];
    let fields: [(usize, &[u8]); 6] = [
        (0, &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]),
        (16, &[0xff, 0xff, 0, 0, 101]),
        (32, &[44, 0, 0, 0, 44]),
        (40, &[0x45, 0, 0, 44, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]),
        (60, &[2, 188, 8, 1]),
        (72, &[0x50, 0x10]),
    ];
    fields.iter().for_each(|(at, bytes)| file[*at..at + bytes.len()].copy_from_slice(bytes));
    file
}

fn wharf(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wharf")).args(arguments).output().unwrap()
}
