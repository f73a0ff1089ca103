#!/bin/sh
# All figures of docs/segments.md that depend on the machine, in about four minutes; run it on a quiet one, as root.
#
#   tests/segments/measure.sh WHARF FOLDER
#
# WHARF is an optimised program, FOLDER takes the results as text and JSON. It needs iproute2, iperf3, tcpdump and
# python3. All traffic stays in network namespaces of its own.
set -eu
[ $# -eq 2 ] || { echo "usage: $0 WHARF FOLDER" >&2; exit 2; }
wharf=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")

# The rest runs in namespaces that end with it.
if [ -z "${WHARF_MEASURE_INSIDE:-}" ]; then
    WHARF_MEASURE_INSIDE=1 exec unshare --mount --net "$0" "$wharf" "$out"
fi
mount -t tmpfs tmpfs /run
ip link set lo up

say() { echo "== $*" | tee -a "$out/log"; }

# A veth pair to the namespace "peer"; $1 is the most segments of a super-segment, $2 the speed of the wire, if any.
# The token buckets are those of wharf tcp wire: super-segments are cut before they are counted with 24 bytes each.
pair() {
    ip netns add peer
    ip link add v0 gso_max_segs "$1" type veth peer name v1 netns peer gso_max_segs "$1"
    ip addr add 10.9.0.1/24 dev v0 && ip link set v0 up
    ip -n peer addr add 10.9.0.2/24 dev v1 && ip -n peer link set v1 up
    [ -n "${2:-}" ] || return 0
    bucket="tbf rate $2 burst 64kb limit 8mb overhead 24 peakrate 400gbit mtu 1538"
    # shellcheck disable=SC2086
    tc qdisc add dev v0 root $bucket && ip netns exec peer tc qdisc add dev v1 root $bucket
}
unpair() { ip link del v0; ip netns del peer; }

# One test with iperf3 and one with wharf tcp stream, in turns; a line of bits per second for both.
beside_iperf() {
    name=$1
    ip netns exec peer "$wharf" tcp listen 10.9.0.2:5210 >"$out/listen" & listen=$!
    ip netns exec peer iperf3 --server >"$out/iperf3" 2>&1 & server=$!
    until grep -q listening "$out/listen" && ip netns exec peer ss -ltn | grep -q :5201; do sleep 0.1; done
    : >"$out/$name.pairs"
    for round in 1 2 3 4 5 6 7 8; do
        for program in $([ $((round % 2)) = 0 ] && echo "wharf iperf" || echo "iperf wharf"); do
            case $program in
            wharf) "$wharf" tcp stream 10.9.0.2 --time 2s --json >"$out/wharf.json" ;;
            iperf) iperf3 --client 10.9.0.2 --time 2 --json >"$out/iperf.json" ;;
            esac
        done
        python3 - "$out" >>"$out/$name.pairs" <<'PYTHON'
import json, sys
load = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
print(load("wharf")[0]["bits_per_second_out"]["mean"], load("iperf")["end"]["sum_received"]["bits_per_second"])
PYTHON
    done
    kill $listen $server
    wait $listen $server || true
    python3 - "$out/$name.pairs" <<'PYTHON' | tee "$out/$name.txt"
import math, statistics, sys
pairs = [tuple(map(float, line.split())) for line in open(sys.argv[1])]
ratios = [math.log(ours / iperf) for ours, iperf in pairs]
# Student's t of 7 degrees at 95 %.
half = 2.364624 * statistics.stdev(ratios) / math.sqrt(len(ratios))
mean = statistics.mean(ratios)
ours, iperf = (statistics.mean(column) / 1e6 for column in zip(*pairs))
print(f"ours {ours:.1f} Mbit/s, iperf3 {iperf:.1f} Mbit/s in {len(pairs)} pairs; ours to iperf3 "
      f"{(math.exp(mean) - 1) * 100:+.2f}% ({(math.exp(mean - half) - 1) * 100:+.2f}% to "
      f"{(math.exp(mean + half) - 1) * 100:+.2f}%)")
PYTHON
}

# Captures at both ends while blocks of $1 are written and read; $2 is a flag of wharf serve, or nothing.
replies() {
    # shellcheck disable=SC2086
    "$wharf" serve mem:80M --listen 0.0.0.0:2049 --client 10.9.0.0/24 --state-dir "$out/state" $2 >/dev/null 2>&1 &
    served=$!
    dump="tcpdump -Z root -U --immediate-mode -B 65536 -s 128"
    $dump -i v0 -w "$out/v0.pcap" tcp 2>"$out/v0.log" & v0=$!
    ip netns exec peer $dump -i v1 -w "$out/v1.pcap" tcp 2>"$out/v1.log" & v1=$!
    until grep -q listening "$out/v0.log" && grep -q listening "$out/v1.log"; do sleep 0.1; done
    for way in write read; do
        ip netns exec peer "$wharf" bench 'nfs://10.9.0.1/mem?nfsport=2049' --rw $way --bs "$1" --iodepth 16 \
            --size 64M >/dev/null 2>&1
    done
    sleep 0.5
    kill -INT $v0 $v1
    wait $v0 $v1 || true
    kill $served
    wait $served || true
    rm -rf "$out/state"
    echo "$1 ${2:-batching}, READ as the server sends: $(grep 'dropped by kernel' "$out/v0.log")"
    "$wharf" tcp trace "$out/v0.pcap" | grep -E '^from|^10\.9\.0\.1:' | head -2
    echo "$1 ${2:-batching}, WRITE as the client sends: $(grep 'dropped by kernel' "$out/v1.log")"
    "$wharf" tcp trace "$out/v1.pcap" | grep -E '^from|^10\.9\.0\.2:' | head -2
}

: >"$out/log"
say "wire of 1 Gbit/s"
"$wharf" tcp wire --bytes 60M -I 95,5 -i 6,10 | tee "$out/wire.txt"
say "wire of 1 Gbit/s, small buffers and reads"
"$wharf" tcp wire --bytes 20M --send-buffer 64K --receive-buffer 16K --read-size 1024 -i 8,8 | tee "$out/wire-small.txt"
say "eight buffer pairs over the TAP device"
"$wharf" tcp stream --rule before --rule after --buffers --bytes 100M -I 95,10 -i 3,8 | tee "$out/tap-buffers.txt"

pair 64
say "eight buffer pairs between kernels over veth"
ip netns exec peer "$wharf" tcp listen 10.9.0.2:5210 >"$out/listen" & listen=$!
until grep -q listening "$out/listen"; do sleep 0.1; done
"$wharf" tcp stream 10.9.0.2 --buffers --time 1s -I 95,10 -i 3,5 | tee "$out/kernel-buffers.txt"
say "both directions, four connections"
"$wharf" tcp stream 10.9.0.2 --both -P 4 --time 2s -i 3,3 | tee "$out/kernel-both.txt"
say "requests and responses"
for flags in "-r 1,1" "-r 128,64K" "-r 1,1 -P 8"; do
    echo "$flags"
    # shellcheck disable=SC2086
    "$wharf" tcp rr 10.9.0.2 $flags --time 2s -I 95,10 -i 3,5
done | tee "$out/rr.txt"
kill $listen
wait $listen || true
say "beside iperf3 over veth"
beside_iperf iperf-veth
say "how replies and WRITEs leave"
{
    replies 4k ""
    replies 64k ""
    replies 1M ""
    replies 64k --no-batching
} | tee "$out/replies.txt"
unpair
pair 64 1gbit
say "beside iperf3 on a wire of 1 Gbit/s"
beside_iperf iperf-wire
unpair
rm -f "$out/wharf.json" "$out/iperf.json" "$out/listen" "$out/iperf3" "$out"/v?.log "$out"/v?.pcap
say "done"
