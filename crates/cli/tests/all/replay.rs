//! `wharf bench --replay` on captures that tcpdump made of libnfs's tools and of Wharf's client.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use testing::Scratch;
use testing::program::namespace::{Namespace, is_installed};
use testing::program::{wharf_fails, wharf_ok};

/// Serves a tree, captures what clients do with it, and replays the captures. `$1` is Wharf, `$2` a folder.
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
ask='nfsport=2049&mountport=2049&version=3'
until nfs-ls -R "nfs://127.0.0.1$2/export?$ask" >&2; do sleep 0.1; done
nfs-cat "nfs://127.0.0.1$2/export/large?$ask" >/dev/null
nfs-cp "$2/export/large" "nfs://127.0.0.1$2/export/copied?$ask" >&2
"$1" cat "nfs://127.0.0.1$2/export/sub/small?nfsport=2049" --version 3 >&2
"$1" cp "$2/export/large" "nfs://127.0.0.1$2/export/sub/another?nfsport=2049" --version 3 >&2
"$1" mv "nfs://127.0.0.1$2/export/sub/another?nfsport=2049" "nfs://127.0.0.1$2/export/other?nfsport=2049" \
  --version 3 >&2
"$1" rm "nfs://127.0.0.1$2/export/other?nfsport=2049" --version 3 >&2
! "$1" rm "nfs://127.0.0.1$2/export/missing?nfsport=2049" --version 3 >&2
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
    if ["tcpdump", "tshark", "nfs-ls"].into_iter().any(|program| !is_installed(program)) {
        println!("skipped: there is no tcpdump, tshark or nfs-ls; install tcpdump, tshark and libnfs-utils");
        return;
    }
    let scratch = Scratch::new();
    let Some(namespace) = Namespace::new() else { return };
    let folder = scratch.path("");
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    let wharf = env!("CARGO_BIN_EXE_wharf");
    let output = namespace.command("sh").args(["-c", CAPTURE, "sh", wharf, folder]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{said}");
    for name in ["any", "short"] {
        let report: Value =
            serde_json::from_str(&std::fs::read_to_string(scratch.path(&format!("{name}.json"))).unwrap()).unwrap();
        let replay = &report["jobs"][0]["replay"];
        let calls: BTreeMap<String, u64> = replay["procedures"].as_object().unwrap().iter().map(count).collect();
        // Both captures are of the same packets, and tshark reads all calls in one of them.
        assert_eq!(calls, calls_in(scratch.path("any.pcap").to_str().unwrap()), "{name}: {}", replay["remarks"]);
        assert!(calls.len() >= 10 && calls["WRITE"] >= 2 && calls["READ"] >= 2, "{calls:?}");
        assert_eq!(replay["otherwise"], serde_json::json!({}), "{name}");
        assert_eq!(report["jobs"][0]["error"], 0);
    }
}

fn count((name, found): (&String, &Value)) -> (String, u64) {
    (name.clone(), found["total_ios"].as_u64().unwrap())
}

/// The calls of NFSv3 that tshark finds, by procedure. The client's port may be that of another protocol.
fn calls_in(capture: &str) -> BTreeMap<String, u64> {
    let output = Command::new("tshark")
        .args(["-d", "tcp.port==2049,rpc", "-r", capture])
        .args(["-Y", "rpc.msgtyp == 0 && rpc.program == 100003 && rpc.programversion == 3"])
        .args(["-T", "fields", "-e", "nfs.procedure_v3"])
        .output()
        .unwrap();
    let mut calls = BTreeMap::new();
    let numbers = String::from_utf8(output.stdout).unwrap();
    for number in numbers.split(['\n', ',']).filter(|number| !number.is_empty()) {
        let name = client::proto::nfs3::PROCEDURES[number.parse::<usize>().unwrap()];
        *calls.entry(name.to_owned()).or_default() += 1;
    }
    calls
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
