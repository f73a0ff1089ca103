# What mode bits, owners and groups allow to whom, and who may change them.
chmod 755 .
cat >/tmp/case.py <<'X'
import os
import stat
import subprocess
import sys

from users import as_user, expect

def read(path):
    return lambda: os.read(os.open(path, os.O_RDONLY), 10)

def write(path):
    return lambda: os.write(os.open(path, os.O_WRONLY), b"x")

DENIED, NOT_PERMITTED = "Permission denied", "Operation not permitted"

open("private", "w").write("secret")
os.chown("private", 1000, 1000)
os.chmod("private", 0o600)
expect(as_user(1000, read("private")), None, "owner reads 0600")
expect(as_user(1001, read("private")), DENIED, "stranger reads 0600")
os.chmod("private", 0o640)
expect(as_user(1001, read("private"), groups=[7, 8, 1000]), None, "supplementary group reads 0640")
expect(as_user(1001, write("private"), groups=[1000]), DENIED, "group writes 0640")
os.chmod("private", 0o044)
expect(as_user(1000, read("private")), DENIED, "owner without bits reads 0044")
os.chmod("private", 0o400)
expect(as_user(1000, write("private")), DENIED, "owner writes 0400")

# A file made without write permission can be written through the descriptor that made it.
os.mkdir("open", 0o777)
os.chmod("open", 0o777)
def create_read_only():
    fd = os.open("open/read-only", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o444)
    os.write(fd, b"written")
    os.close(fd)
expect(as_user(1000, create_read_only), None, "write after create with 0444")
expect(open("open/read-only").read(), "written", "contents")
status = os.stat("open/read-only")
expect((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (1000, 1000, 0o444), "owner of a new file")

expect(as_user(1001, lambda: os.chmod("open/read-only", 0o777)), NOT_PERMITTED, "stranger's chmod")
expect(as_user(1000, lambda: os.chmod("open/read-only", 0o640)), None, "owner's chmod")
expect(as_user(1000, lambda: os.chown("open/read-only", 1001, -1)), NOT_PERMITTED, "owner gives a file away")
expect(as_user(1000, lambda: os.chown("open/read-only", -1, 8), groups=[8]), None, "owner's chgrp to a group of his")
expect(as_user(1001, lambda: os.utime("open/read-only")), DENIED, "stranger's touch")

os.mkdir("closed", 0o700)
open("closed/file", "w").close()
expect(as_user(1000, read("closed/file")), DENIED, "lookup in 0700")
expect(as_user(1000, lambda: os.listdir("closed")), DENIED, "listing of 0700")
expect(as_user(1000, lambda: os.mkdir("closed/new")), DENIED, "mkdir in 0700")

os.mkdir("sticky")
os.chmod("sticky", 0o1777)
open("sticky/mine", "w").close()
os.chown("sticky/mine", 1000, 1000)
expect(as_user(1001, lambda: os.unlink("sticky/mine")), NOT_PERMITTED, "stranger removes from a sticky directory")
expect(as_user(1000, lambda: os.unlink("sticky/mine")), None, "owner removes from a sticky directory")

os.mkdir("setgid")
os.chown("setgid", 0, 5555)
os.chmod("setgid", 0o2777)
expect(as_user(1000, lambda: os.mkdir("setgid/below")), None, "mkdir in a set-group-id directory")
below = os.stat("setgid/below")
expect((below.st_gid, bool(below.st_mode & stat.S_ISGID)), (5555, True), "group of a directory below")

open("times", "w").close()
nanoseconds = int(sys.argv[1])
os.utime("times", ns=(1_000_000_000_000_000_000 + nanoseconds, 1_234_567_890_000_000_000 + nanoseconds))
subprocess.run(["sh", "-c", "echo 3 >/proc/sys/vm/drop_caches"], check=True)
status = os.stat("times")
expect((status.st_atime_ns, status.st_mtime_ns),
       (1_000_000_000_000_000_000 + nanoseconds, 1_234_567_890_000_000_000 + nanoseconds), "times")
before = os.stat("times").st_ctime_ns
os.chmod("times", 0o604)
assert os.stat("times").st_ctime_ns >= before
X
# Version 2 has microseconds, version 3 nanoseconds.
PYTHONPATH=$(dirname "$0") python3 -B /tmp/case.py $([ "$VERSION" = 2 ] && echo 654321000 || echo 987654321)
