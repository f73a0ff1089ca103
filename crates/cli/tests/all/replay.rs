//! `wharf bench --replay` on captures that tcpdump made of libnfs's tools and of Wharf's client.

use std::collections::BTreeMap;
use std::process::Command;

use client::proto::nfs4::OpNumber;
use serde_json::Value;

use testing::Scratch;
use testing::program::namespace::{Namespace, is_installed};
use testing::program::{wharf_fails, wharf_ok};

/// Serves a tree, captures what clients do with it, and replays the captures. `$1` is Wharf, `$2` a folder, `$3` the
/// version for libnfs, `$4` that for Wharf.
const CAPTURE: &str = r#"
set -e
trap 'kill $server $any $lo 2>/dev/null || :' EXIT
mkdir -p "$2/export/sub" "$2/replays"
head -c 300000 /dev/urandom >"$2/export/large"
echo text >"$2/export/sub/small"
"$1" serve --no-root-squash "$2/export" "$2/replays" --listen 127.0.0.1:2049 --state-dir "$2/state" >&2 &
server=$!
tcpdump -Z root -U --immediate-mode -B 65536 -i any -w "$2/any.pcap" tcp 2>"$2/any.log" & any=$!
tcpdump -Z root -U --immediate-mode -B 65536 -s 400 -i lo -w "$2/short.pcap" tcp 2>"$2/lo.log" & lo=$!
until grep -q listening "$2/any.log" && grep -q listening "$2/lo.log"; do sleep 0.1; done
ask="nfsport=2049&mountport=2049&version=$3"
until nfs-ls -R "nfs://127.0.0.1$2/export?$ask" >&2; do sleep 0.1; done
nfs-cat "nfs://127.0.0.1$2/export/large?$ask" >/dev/null
# Over NFSv4, libnfs sends no WRITE as large as that.
file=large; [ "$3" = 3 ] || file=sub/small
nfs-cp "$2/export/$file" "nfs://127.0.0.1$2/export/copied?$ask" >&2
"$1" cat "nfs://127.0.0.1$2/export/sub/small?nfsport=2049" --version "$4" >&2
"$1" cp "$2/export/large" "nfs://127.0.0.1$2/export/sub/another?nfsport=2049" --version "$4" >&2
"$1" mv "nfs://127.0.0.1$2/export/sub/another?nfsport=2049" "nfs://127.0.0.1$2/export/other?nfsport=2049" \
  --version "$4" >&2
"$1" rm "nfs://127.0.0.1$2/export/other?nfsport=2049" --version "$4" >&2
! "$1" rm "nfs://127.0.0.1$2/export/missing?nfsport=2049" --version "$4" >&2
sleep 0.5
kill -INT $any $lo && wait $any $lo
for name in any short; do
  "$1" bench "nfs://127.0.0.1$2/replays?nfsport=2049" --replay "$2/$name.pcap" --replay-speed max --json \
    >"$2/$name.json"
done
ls -A "$2/replays"
kill $server && wait $server || true
echo done
"#;

#[test]
fn captures_of_libnfs_and_of_wharf_are_replayed_call_by_call() {
    let Some(Captured { scratch, reports }) = capture_and_replay("3", "3") else { return };
    for report in reports {
        let replay = &report["jobs"][0]["replay"];
        let calls: BTreeMap<String, u64> = replay["procedures"].as_object().unwrap().iter().map(count).collect();
        // Both captures are of the same packets, and tshark reads all calls in one of them.
        assert_eq!(calls, calls_in(scratch.path("any.pcap").to_str().unwrap()), "{}", replay["remarks"]);
        assert!(calls.len() >= 10 && calls["WRITE"] >= 2 && calls["READ"] >= 2, "{calls:?}");
        assert_eq!(replay["otherwise"], serde_json::json!({}));
        assert_eq!(report["jobs"][0]["error"], 0);
    }
}

/// Captures what Wharf's client does over UDP, and replays that over UDP. `$1` is Wharf, `$2` a folder.
const CAPTURE_UDP: &str = r#"
set -e
trap 'kill $server $capture 2>/dev/null || :' EXIT
# Most datagrams are fragments.
ip link set lo mtu 1500
mkdir "$2/export" "$2/replays"
head -c 300000 /dev/urandom >"$2/large"
"$1" serve --no-root-squash "$2/export" "$2/replays" --listen 127.0.0.1:2049 --state-dir "$2/state" >&2 &
server=$!
tcpdump -Z root -U --immediate-mode -B 65536 -i lo -w "$2/udp.pcap" udp 2>"$2/log" & capture=$!
until grep -q listening "$2/log"; do sleep 0.1; done
url="nfs://127.0.0.1$2/export?nfsport=2049&version=3&proto=udp"
until "$1" ls "$url" >&2; do sleep 0.1; done
"$1" cp "$2/large" "nfs://127.0.0.1$2/export/large?nfsport=2049&version=3&proto=udp" >&2
"$1" cp "nfs://127.0.0.1$2/export/large?nfsport=2049&version=3&proto=udp" "$2/back" >&2
cmp "$2/large" "$2/back"
"$1" rm "nfs://127.0.0.1$2/export/large?nfsport=2049&version=3&proto=udp" >&2
sleep 0.5
kill -INT $capture && wait $capture
"$1" bench "nfs://127.0.0.1$2/replays?nfsport=2049" --proto udp --replay "$2/udp.pcap" --json >"$2/udp.json"
kill $server && wait $server || true
echo done
"#;

#[test]
fn capture_of_udp_is_replayed_with_its_fragments_put_together() {
    let Some(scratch) = run_script(CAPTURE_UDP, &[]) else { return };
    let report = report(&scratch, "udp");
    let replay = &report["jobs"][0]["replay"];
    let calls: BTreeMap<String, u64> = replay["procedures"].as_object().unwrap().iter().map(count).collect();
    assert_eq!(calls, calls_in(scratch.path("udp.pcap").to_str().unwrap()), "{replay}");
    assert!(calls["WRITE"] >= 5 && calls["READ"] >= 5, "{calls:?}");
    assert_eq!((&replay["otherwise"], &report["jobs"][0]["error"]), (&serde_json::json!({}), &0.into()), "{replay}");
    assert_eq!(report["jobs"][0]["write"]["io_bytes"], 300_000, "{report}");
}

#[test]
fn captures_of_nfsv4_have_as_many_opens_reads_and_writes_as_tshark_finds() {
    let Some(Captured { scratch, reports }) = capture_and_replay("4", "4.0") else { return };
    let report = &reports[0];
    let replay = &report["jobs"][0]["replay"];
    let found = replay["procedures"].as_object().unwrap();
    let operations = operations_in(scratch.path("any.pcap").to_str().unwrap());
    for kind in [OpNumber::Open, OpNumber::Close, OpNumber::Read, OpNumber::Write, OpNumber::Readdir, OpNumber::Rename]
    {
        let count = found.get(kind.name()).and_then(|found| found["total_ios"].as_u64());
        let (count, captured) = (count.unwrap_or(0), operations.get(&kind.number()).copied().unwrap_or(0));
        assert!(captured > 0 && count == captured, "{}: {count} of {captured}: {replay}", kind.name());
    }
    assert_eq!(replay["otherwise"], serde_json::json!({}), "{replay}");
    assert_eq!(report["jobs"][0]["error"], 0);
}

/// What a capture was made in, and the reports of the replays of its whole packets and of their beginnings.
struct Captured {
    scratch: Scratch,
    reports: [Value; 2],
}

/// Captures clients of these versions of libnfs and of Wharf, and replays what was captured.
fn capture_and_replay(libnfs: &str, own: &str) -> Option<Captured> {
    let scratch = run_script(CAPTURE, &[libnfs, own])?;
    let reports = [report(&scratch, "any"), report(&scratch, "short")];
    Some(Captured { scratch, reports })
}

fn report(scratch: &Scratch, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(scratch.path(&format!("{name}.json"))).unwrap()).unwrap()
}

/// Runs a script in a network of its own. Returns the folder that it used; nothing where that cannot be done.
fn run_script(script: &str, more: &[&str]) -> Option<Scratch> {
    if ["tcpdump", "tshark", "nfs-ls"].into_iter().any(|program| !is_installed(program)) {
        println!("skipped: there is no tcpdump, tshark or nfs-ls; install tcpdump, tshark and libnfs-utils");
        return None;
    }
    let scratch = Scratch::new();
    let namespace = Namespace::new()?;
    let folder = scratch.path("");
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    let arguments = ["-c", script, "sh", env!("CARGO_BIN_EXE_wharf"), folder];
    let output = namespace.command("sh").args(arguments).args(more).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{said}");
    Some(scratch)
}

fn count((name, found): (&String, &Value)) -> (String, u64) {
    (name.clone(), found["total_ios"].as_u64().unwrap())
}

/// The calls of NFSv3 that tshark finds, by procedure.
fn calls_in(capture: &str) -> BTreeMap<String, u64> {
    let numbers = tshark(capture, "rpc.programversion == 3", "nfs.procedure_v3");
    let name = |number: u32| client::proto::nfs3::PROCEDURES[number as usize].to_owned();
    numbers.into_iter().map(|(number, count)| (name(number), count)).collect()
}

/// The operations of NFSv4 that tshark finds, by number.
fn operations_in(capture: &str) -> BTreeMap<u32, u64> {
    tshark(capture, "rpc.programversion == 4", "nfs.opcode")
}

/// How often tshark finds each value of a field in calls of NFS. The client's port may be that of another protocol.
fn tshark(capture: &str, filter: &str, field: &str) -> BTreeMap<u32, u64> {
    let output = Command::new("tshark")
        .args(["-d", "tcp.port==2049,rpc", "-d", "udp.port==2049,rpc", "-r", capture])
        .args(["-Y", &format!("rpc.msgtyp == 0 && rpc.program == 100003 && {filter}")])
        .args(["-T", "fields", "-e", field])
        .output()
        .unwrap();
    let mut found = BTreeMap::new();
    let numbers = String::from_utf8(output.stdout).unwrap();
    for number in numbers.split(['\n', ',']).filter(|number| !number.is_empty()) {
        *found.entry(number.parse().unwrap()).or_default() += 1;
    }
    found
}

#[test]
fn replay_of_no_capture_is_refused_with_the_file() {
    let scratch = Scratch::new();
    let file = scratch.file("notes", "these are notes, and no packets of any kind");
    let file = file.to_str().unwrap();
    let said = wharf_fails(1, &["bench", "nfs://127.0.0.1/none", "--replay", file]);
    assert!(said.contains(file) && said.contains("pcap"), "{said}");
    let said = wharf_fails(1, &["bench", "nfs://127.0.0.1/none", "--replay", "/nowhere/file"]);
    assert!(said.contains("/nowhere/file: cannot open the capture"), "{said}");
}

#[test]
fn replay_takes_no_options_of_other_loads() {
    for options in [&["--rw", "read"][..], &["--fio", "x"], &["--agents", "h:1", "--agent-token", "t"]] {
        wharf_fails(2, &[&["bench", "nfs://127.0.0.1/none", "--replay", "x"], options].concat());
    }
    wharf_fails(2, &["bench", "nfs://127.0.0.1/none", "--replay-speed", "2"]);
    wharf_fails(2, &["bench", "nfs://127.0.0.1/none", "--replay", "x", "--replay-speed", "0"]);
    assert!(wharf_ok(&["bench", "--help"]).contains("--replay-speed"));
}
