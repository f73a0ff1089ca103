# Locks outlive the server: a process holds a lock and goes on writing while the server is killed without warning and
# started again. The client reclaims the lock, a second process is refused it as before, and new locks are given as soon as
# every client has reclaimed, not only when the grace period has run out (version 4.1 and 4.2).
if [ "$KNFSD" = 1 ]; then
  echo "the guest's own server cannot be killed"
  exit 77
fi
# Within one mount the kernel itself refuses a second process. A mount with files of its own asks the server.
second=/tmp/second-mount
mkdir -p "$second"
source=$(awk -v mount="$MNT" '$2 == mount { print $1 }' /proc/mounts)
case $VERSION in
  # mount.nfs does not know version 2 any more; the locks of version 3 are the same ones.
  2 | 3) mount -t nfs -o "vers=3,$OPTIONS,port=2049,mountproto=$TRANSPORT,mountport=2049,nosharecache" "$source" "$second" ;;
  *) mount -t nfs -o "vers=$VERSION,$OPTIONS,port=2049,nosharecache" "$source" "$second" ;;
esac
trap 'cd /; umount "$second"' EXIT
export OTHER="$second/${PWD#"$MNT"/}"
cat >/tmp/case.py <<'X'
import fcntl
import os
import subprocess
import sys
import threading
import time

held = os.open("held", os.O_CREAT | os.O_RDWR)
fcntl.lockf(held, fcntl.LOCK_EX, 50, 100)

ASK = """
import errno, fcntl, os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
try:
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, int(sys.argv[3]), int(sys.argv[2]))
    print("granted")
except OSError as error:
    print(errno.errorcode[error.errno])
"""

def ask(name, first, length):
    """What another process hears that wants a lock through the second mount, and how long it took."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", ASK, f"{os.environ['OTHER']}/{name}", str(first), str(length)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), time.monotonic() - began

REFUSED = ("EAGAIN", "EACCES")
assert ask("held", 140, 50)[0] in REFUSED
assert ask("held", 150, 50)[0] == "granted"

stop = threading.Event()
errors = []
rounds = 0

def write():
    global rounds
    try:
        while not stop.is_set():
            data = b"%08d" % rounds * 512
            os.pwrite(held, data, 4096 * (rounds % 16))
            os.fsync(held)
            assert os.pread(held, len(data), 4096 * (rounds % 16)) == data
            rounds += 1
    except BaseException as error:
        errors.append(repr(error))

writer = threading.Thread(target=write)
writer.start()
slowest = 0
for restart in range(2):
    time.sleep(1)
    before = rounds
    open("/share/restart", "w").close()
    while os.path.exists("/share/restart"):
        time.sleep(0.1)
    answer, took = ask(f"new-{restart}", 0, 0)
    assert answer == "granted", answer
    slowest = max(slowest, took)
    assert ask("held", 100, 1)[0] in REFUSED
    assert ask("held", 0, 100)[0] == "granted"
    while rounds <= before + 2 and not errors:
        time.sleep(0.1)
stop.set()
writer.join()
assert not errors, errors
# The grace period is 20 s, and clients of NFSv4.0 and of the lock manager cannot say that they have reclaimed.
assert os.environ["VERSION"] in ("2", "3", "4.0") or slowest < 15, slowest
fcntl.lockf(held, fcntl.LOCK_UN, 50, 100)
assert ask("held", 100, 1)[0] == "granted"
print(f"{rounds} rounds of writing, the first new lock after a restart took {slowest:.1f} s")
X
python3 /tmp/case.py
