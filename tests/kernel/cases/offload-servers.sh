# A long file is copied from one server to another by the servers themselves: the client says so to both (COPY_NOTIFY, COPY), and
# no byte of it goes through the client. The copy is compared byte by byte.
case $VERSION in
  4.2) ;;
  *)
    echo "copies between servers are in NFSv4.2 (RFC 7862)"
    exit 77
    ;;
esac
if [ "$KNFSD" = 1 ]; then
  echo "there is one server only"
  exit 77
fi
second=/tmp/other-server
mkdir -p "$second"
mount -t nfs -o "vers=$VERSION,proto=${PROTO%4},port=2050" "$HOST_IP:$OTHER" "$second"
trap 'cd /; umount "$second"' EXIT
export SECOND="$second"
cat >/tmp/case.py <<'END'
import os
import re
import time

LENGTH = (96 << 20) + 12345
PIECE = 1 << 20
second = os.environ["SECOND"]

def counts(mount):
    with open("/proc/self/mountstats") as file:
        parts = file.read().split("\ndevice ")
    [text] = [part for part in parts if f" mounted on {mount} " in part]
    operations = {name: int(count) for name, count in re.findall(r"^\s+(\w+): (\d+) ", text, re.M)}
    return {name: operations.get(name, 0) for name in ("READ", "WRITE", "COPY", "COPY_NOTIFY")}

with open("long", "wb") as file:
    for number in range(LENGTH // PIECE):
        file.write(os.urandom(PIECE))
    file.write(os.urandom(LENGTH % PIECE))
    file.flush()
    os.fsync(file.fileno())
length = os.stat("long").st_size
with open("/proc/sys/vm/drop_caches", "w") as file:
    file.write("3")

before = counts(os.environ["MNT"]), counts(second)
source, copy = os.open("long", os.O_RDONLY), os.open(f"{second}/copy", os.O_CREAT | os.O_RDWR)
began, done = time.monotonic(), 0
while done < length:
    count = os.copy_file_range(source, copy, length - done)
    assert count > 0, done
    done += count
took = time.monotonic() - began
os.fsync(copy)
after = counts(os.environ["MNT"]), counts(second)
asked = after[0]["COPY_NOTIFY"] - before[0]["COPY_NOTIFY"]
copied = after[1]["COPY"] - before[1]["COPY"]
moved = after[0]["READ"] - before[0]["READ"], after[1]["WRITE"] - before[1]["WRITE"]
os.close(copy)
with open("/proc/sys/vm/drop_caches", "w") as file:
    file.write("3")
with open("long", "rb") as one, open(f"{second}/copy", "rb") as other:
    while piece := one.read(PIECE):
        assert piece == other.read(PIECE), one.tell()
    assert not other.read(1)
assert asked >= 1 and copied >= 1 and moved == (0, 0), (asked, copied, moved)
print(f"{length >> 20} MiB in {took:.2f} s, COPY_NOTIFY {asked}, COPY {copied}, READ and WRITE {moved}")
END
python3 /tmp/case.py
