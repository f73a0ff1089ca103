# Links, pipes, sockets and devices, and names that are as long and as odd as names can be.
cat >/tmp/case.py <<'X'
import errno
import os
import socket
import stat
import subprocess

for target in ["plain", "../up/and/down", "/absolute/path", "x" * 1000, "dangling \xff"]:
    os.symlink(target, "link")
    assert os.readlink("link") == target
    assert os.lstat("link").st_size == len(os.fsencode(target)), target
    os.unlink("link")

open("one", "w").write("same")
os.mkdir("dir")
os.link("one", "dir/two")
one, two = os.stat("one"), os.stat("dir/two")
assert (one.st_ino, one.st_nlink, two.st_nlink) == (two.st_ino, 2, 2), (one, two)
open("dir/two", "a").write(" file")
assert open("one").read() == "same file"
os.unlink("one")
assert os.stat("dir/two").st_nlink == 1
os.symlink("dir/two", "through")
assert open("through").read() == "same file"

os.mkfifo("pipe", 0o620)
assert stat.S_ISFIFO(os.lstat("pipe").st_mode)
reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
open("pipe", "w").write("through the pipe")
assert reader.communicate()[0] == b"through the pipe"

listener = socket.socket(socket.AF_UNIX)
listener.bind("socket")
assert stat.S_ISSOCK(os.lstat("socket").st_mode)
listener.listen()
caller = socket.socket(socket.AF_UNIX)
caller.connect("socket")

for kind, major, minor in (stat.S_IFCHR, 1, 3), (stat.S_IFBLK, 8, 17):
    os.mknod("device", kind | 0o600, os.makedev(major, minor))
    status = os.lstat("device")
    assert stat.S_IFMT(status.st_mode) == kind, oct(status.st_mode)
    assert (os.major(status.st_rdev), os.minor(status.st_rdev)) == (major, minor), status.st_rdev
    os.unlink("device")
os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
open("null", "w").write("nothing")
assert open("null").read() == ""

names = [bytes([255, 254, 128, 1, 9, 10, 92, 34]), b"\xc3(" * 127 + b"z", b"a" * 255, b" leading and trailing ", b"-n", b"..."]
for name in names:
    fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(fd, name)
    os.close(fd)
listed = os.listdir(b".")
for name in names:
    assert name in listed, name
    assert open(name, "rb").read() == name
    os.unlink(name)
try:
    open(b"b" * 256, "w")
    raise SystemExit("a name of 256 bytes was taken")
except OSError as error:
    assert error.errno == errno.ENAMETOOLONG, error
X
python3 /tmp/case.py
