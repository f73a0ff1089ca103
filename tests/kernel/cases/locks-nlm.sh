# Locks over NFSv2 and NFSv3, by the lock manager protocol: fcntl and flock, tests, waiting with the server's call when the lock is
# free, a wait that is interrupted, and a mount of version 4 that meets them.
case $VERSION in
  4.*)
    echo "version $VERSION has locks of its own"
    exit 77
    ;;
esac
second=/tmp/second-mount
mkdir -p "$second"
if [ "$KNFSD" = 1 ]; then
  mount -t nfs -o "vers=4.2,proto=tcp,port=2049" "127.0.0.1:/ext4" "$second"
else
  mount -t nfs -o "vers=4.2,proto=tcp,port=2049" "$HOST_IP:$EXPORT" "$second"
fi
trap 'cd /; umount "$second"' EXIT
export OTHER="$second/${PWD#"$MNT"/}"
cat >/tmp/case.py <<'X'
import fcntl
import os
import signal
import struct
import subprocess
import sys
import time

F_RDLCK, F_WRLCK, F_UNLCK = fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK

ASK = """
import errno, fcntl, os, sys, time
path, how, first, length = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
fd = os.open(path, os.O_RDWR)
began = time.monotonic()
try:
    flags = fcntl.LOCK_EX if "wait" in how else fcntl.LOCK_EX | fcntl.LOCK_NB
    if how.startswith("flock"):
        fcntl.flock(fd, flags)
    else:
        fcntl.lockf(fd, flags, length, first)
    print("granted", time.monotonic() - began, flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], 0, flush=True)
if "hold" in how:
    time.sleep(100)
"""

def start(path, how="now", first=0, length=0):
    """A process that asks for a lock."""
    args = [sys.executable, "-c", ASK, path, how, str(first), str(length)]
    return subprocess.Popen(args, stdout=subprocess.PIPE, text=True)

def heard(process):
    """What it hears."""
    word, took = process.stdout.readline().split()
    return word, float(took)

def ask(path, how="now", first=0, length=0):
    process = start(path, how, first, length)
    answer = heard(process)[0]
    process.wait()
    return answer

def tested(fd, first, length):
    """The kind, the start and the length of the lock in the way."""
    asked = struct.pack("hhqqi", F_WRLCK, os.SEEK_SET, first, length, 0)
    kind, _, start, length, _ = struct.unpack("hhqqi", fcntl.fcntl(fd, fcntl.F_GETLK, asked))
    return (kind, start, length) if kind != F_UNLCK else None

REFUSED = ("EAGAIN", "EACCES")
other = os.environ["OTHER"]
with open("file", "wb") as file:
    file.write(b"x" * 4096)
mine = os.open("file", os.O_RDWR)
path = os.path.join(other, "file")

# What one protocol holds, the other one is refused.
fcntl.lockf(mine, fcntl.LOCK_EX, 50, 100)
assert ask(path, first=149, length=1) in REFUSED
assert ask(path, first=150, length=10) == "granted"
holder = start(path, "hold", 1000, 10)
assert heard(holder)[0] == "granted"
assert tested(mine, 0, 0) == (F_WRLCK, 1000, 10), tested(mine, 0, 0)
assert tested(mine, 0, 1000) is None
try:
    fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 1009)
    raise AssertionError("both have the lock")
except OSError:
    pass

# Waiting: the server calls when the lock is free. Without its call the client would ask again after 30 s only.
slowest = 0
for _ in range(3):
    waiter = start("file", "hold-wait", 1000, 10)
    time.sleep(1.5)
    holder.kill()
    holder.wait()
    answer, took = heard(waiter)
    assert answer == "granted", answer
    slowest = max(slowest, took - 1.5)
    assert ask(path, first=1000, length=1) in REFUSED
    waiter.kill()
    waiter.wait()
    holder = start(path, "hold", 1000, 10)
    assert heard(holder)[0] == "granted", "a process that was killed keeps its lock"
assert slowest < 8, slowest

# A wait that is interrupted brings no lock, and stands in nobody's way.
waiter = start("file", "wait", 1000, 10)
time.sleep(1.5)
waiter.send_signal(signal.SIGTERM)
waiter.wait()
holder.kill()
holder.wait()
time.sleep(1)
assert ask(path, first=1000, length=10) == "granted"

# A lock of flock is one of the whole file.
held = os.open("flocked", os.O_CREAT | os.O_RDWR)
fcntl.flock(held, fcntl.LOCK_EX)
assert ask("flocked", "flock") in REFUSED
assert ask(os.path.join(other, "flocked"), "now") in REFUSED
waiter = start("flocked", "flock-wait")
time.sleep(1)
fcntl.flock(held, fcntl.LOCK_UN)
assert heard(waiter)[0] == "granted"
waiter.wait()
print(f"a lock that was waited for came {slowest:.1f} s after it was free at the latest")
X
python3 /tmp/case.py
