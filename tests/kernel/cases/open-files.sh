# A file that is open can lose its name, get another, or lose it to another file, and stays the same file.
cat >/tmp/case.py <<'X'
import os
import time

def hidden():
    return [name for name in os.listdir(".") if name.startswith(".nfs")]

def assert_nothing_stays_hidden():
    # The client removes them after the last close, which does not wait for that.
    deadline = time.monotonic() + 10
    while names := hidden():
        assert time.monotonic() < deadline, names
        time.sleep(0.05)

# The client keeps a file that is removed while open under a name of its own (RFC 1813 §1.7).
fd = os.open("gone", os.O_CREAT | os.O_RDWR)
os.write(fd, b"before")
os.unlink("gone")
assert not os.path.exists("gone")
assert len(hidden()) == 1, os.listdir(".")
os.write(fd, b" after")
os.fsync(fd)
assert os.pread(fd, 100, 0) == b"before after"
assert os.fstat(fd).st_size == 12
os.close(fd)
assert_nothing_stays_hidden()

fd = os.open("old", os.O_CREAT | os.O_RDWR)
os.mkdir("dir")
os.rename("old", "dir/new")
os.write(fd, b"moved")
os.fsync(fd)
assert open("dir/new", "rb").read() == b"moved"
os.rename("dir", "dir2")
os.write(fd, b" twice")
os.close(fd)
assert open("dir2/new", "rb").read() == b"moved twice"

open("loser", "w").write("loser")
open("winner", "w").write("winner")
fd = os.open("loser", os.O_RDONLY)
os.rename("winner", "loser")
assert os.read(fd, 100) == b"loser"
assert open("loser").read() == "winner"
os.close(fd)
assert_nothing_stays_hidden()

# A directory that still holds a hidden file is not empty.
os.mkdir("full")
fd = os.open("full/file", os.O_CREAT | os.O_RDWR)
os.unlink("full/file")
try:
    os.rmdir("full")
    raise SystemExit("rmdir took away a directory with an open file")
except OSError as error:
    pass
os.close(fd)
for attempt in range(200):
    if not os.listdir("full"):
        break
    time.sleep(0.05)
os.rmdir("full")
X
python3 /tmp/case.py
