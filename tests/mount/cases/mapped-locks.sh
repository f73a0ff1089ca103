# Whoever takes a lock sees what another mount changed through a shared mapping under its lock.
"$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "$OPTIONS"
case=$(basename "$PWD")
status=0
timeout -k 5 50 python3 - "$OTHER/$case" <<'X' || status=$?
import fcntl
import mmap
import os
import sys

def mapped(place):
    file = os.open(f"{place}/file", os.O_CREAT | os.O_RDWR, 0o644)
    os.ftruncate(file, 8192)
    return file, mmap.mmap(file, 8192)

both = [mapped("."), mapped(sys.argv[1])]
for number in range(20):
    (file, memory), (other, seen) = both if number % 2 else both[::-1]
    text = b"%08d" % number
    for lock in (fcntl.lockf, fcntl.flock):
        lock(file, fcntl.LOCK_EX)
        at = 5000 if lock is fcntl.flock else 0
        memory[at : at + 8] = text
        lock(file, fcntl.LOCK_UN)
        lock(other, fcntl.LOCK_SH)
        read = os.pread(other, 8, at), bytes(seen[at : at + 8])
        lock(other, fcntl.LOCK_UN)
        assert read == (text, text), (number, lock.__name__, read)
X
umount "$OTHER"
exit $status
