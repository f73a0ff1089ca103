# The lab over this kernel's client: `wharf bench` of the mount by system calls, and an experiment whose clients are the
# library, without a mount, and this client, on servers in the guest.
wharf=$SHARE/wharf
[ -x "$wharf" ] || { echo "there is no wharf in the guest"; exit 77; }
bench() { "$wharf" bench . --size 1M --json "$@" >/tmp/bench.json && python3 - <<'CHECK'; }
import json
for job in json.load(open("/tmp/bench.json"))["jobs"]:
    parts = [job[name] for name in ("read", "write", "metadata") if name in job]
    assert job["error"] == 0 and sum(part["total_ios"] for part in parts) > 0, job["jobname"]
CHECK
bench --bs 4k --rw randrw,getattr,access,lookup,createremove,newfile,readdirplus,open,build
bench --bs 4k --rw randread,randwrite --iodepth 4 --direct
[ -z "$(ls -A)" ] || { echo "the benchmark left $(ls -A)"; exit 1; }

case $VERSION-$TRANSPORT in
  2-*) echo "bench; the lab's servers are mounted from version 3 on"; exit 0 ;;
esac
cat >/tmp/lab.toml <<TOML
question = "How fast is the kernel's client beside the library?"
contenders = "client"
file_mib = 4
bench = "--rw randread --bs 4k --size 1M --iodepth 4 --direct"
[[server]]
name = "wharf"
wharf = []
[[client]]
name = "library"
[[client]]
name = "kernel"
mount = "kernel"
options = "vers=$VERSION,$OPTIONS"
TOML
rm -rf /tmp/runs
"$wharf" lab run /tmp/lab.toml --rounds 1 --out /tmp/runs >/tmp/report 2>&1 || { cat /tmp/report; exit 1; }
cat /tmp/runs/*/samples.jsonl | python3 -c '
import json, sys
passes = [json.loads(line) for line in sys.stdin]
kernel = [one for one in passes if one["levels"]["client"] == "kernel"]
assert kernel and not any(one["failure"] for one in passes), passes
print(f"{len(passes)} passes, {len(kernel)} of them by the kernel")'
