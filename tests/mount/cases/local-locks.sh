# Over NFSv3, locks of the kind that local_lock names hold on this mount alone, and those of the other kind at the server. NFSv4 ignores it.
first=$WORK/local-locks
mkdir "$first"
end() { for dir in "$first" "$OTHER"; do mountpoint -q "$dir" && umount "$dir"; done; rmdir "$first"; }
trap end EXIT
for kind in posix flock; do
  for dir in "$first" "$OTHER"; do
    "$WHARF_PROGRAM" mount "$SOURCE" "$dir" -o "vers=$VERSION,mountport=$PORT,local_lock=$kind"
  done
  KIND=$kind VERSION=$VERSION python3 - "$first/local-locks" "$OTHER/local-locks" <<'P'
import fcntl
import os
import sys

first, other = (open(f"{place}/file", "w") for place in sys.argv[1:])
for kind, lock in (("posix", fcntl.lockf), ("flock", fcntl.flock)):
    lock(first, fcntl.LOCK_EX)
    try:
        lock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_local = True
    except OSError:
        is_local = False
    assert is_local == (kind == os.environ["KIND"] and os.environ["VERSION"] == "3"), kind
    for file in (first, other):
        lock(file, fcntl.LOCK_UN)
P
  umount "$first" "$OTHER"
done
