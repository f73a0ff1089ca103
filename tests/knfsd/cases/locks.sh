# Locks by fcntl and flock, as tests/mount has them, and against others at the server: they refuse each other, are waited for both ways, and
# leave nothing behind.
mkdir other
for way in $WAYS; do
  echo "$way"
  "$WHARF" mount "$URL" "$MNT" -o "$way"
  mkdir "$MNT/two"
  (cd "$MNT/two" && WHARF_PROGRAM=$WHARF SOURCE=$URL OTHER=$OLDPWD/other OPTIONS=$way sh -eu "$MOUNT_CASES/locks.sh")
  cp "$CHECKS/ask.py" "$MNT/"
  places=$DIR
  for place in $KERNEL_MOUNTS; do
    places="$places /mounted-$place"
    in_guest "mkdir -p /mounted-$place && mount -t nfs -o vers=$place,proto=tcp 127.0.0.1:$(exported "$place") /mounted-$place"
  done
  (cd "$MNT" && PYTHONPATH=$CHECKS PLACES=$places timeout 60 python3 -) <<'P'
import os
import time

from server import Hold, PLACES, ask, attempt, lock, tested, unlock

own = os.open("file", os.O_CREAT | os.O_RDWR)
os.write(own, b"x" * 4096)
os.fsync(own)
for place in PLACES:
    print("with", place, flush=True)
    lock(own, 50, 100)
    assert ask(place, "now", 149, 1) == "EAGAIN", place
    assert ask(place, "test", 100, 1000) == "50+100", place
    assert ask(place, "now", 150, 10) == "granted", place

    holder = Hold(place, "now", 1000, 10)
    assert holder.wait() == "granted", place
    assert not attempt(own, 1009, 1), place
    # NFS-Ganesha's lock manager tells of locks of its own clients only.
    assert tested(own, 900, 0) == ((1000, 10) if os.environ["SERVER"] == "knfsd" else None), place
    assert tested(own, 900, 100) is None, place

    # Each waits for the other.
    waiter = Hold(place, "wait", 60, 10)
    pid = os.fork()
    if pid == 0:
        lock(own, 1000, 10)
        os._exit(0)
    time.sleep(0.5)
    assert waiter.heard() == "" and os.waitpid(pid, os.WNOHANG) == (0, 0), place
    holder.end()
    assert os.waitpid(pid, 0)[1] == 0, place
    unlock(own, 60, 10)
    assert waiter.wait() == "granted", place
    assert not attempt(own, 60, 1), place
    waiter.end()
    lock(own, 60, 10)
    unlock(own)
    assert ask(place, "test", 0, 0) == "free", place
P
  for place in $KERNEL_MOUNTS; do in_guest "umount /mounted-$place"; done
  rm -r "$MNT"/*
  umount "$MNT"
done
echo "$WAYS"
