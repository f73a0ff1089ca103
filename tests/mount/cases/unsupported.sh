# What NFS or FUSE cannot do fails with the error that programs know how to do without, and names are any bytes.
cat >/tmp/case.py <<'P'
import ctypes
import errno
import fcntl
import os

libc = ctypes.CDLL(None, use_errno=True)
has_allocate = os.environ["VERSION"] == "4.2"

def outcome(call):
    try:
        return 0 if (call() or 0) >= 0 else ctypes.get_errno()
    except OSError as error:
        return error.errno

def expect(what, call, *expected):
    found = outcome(call)
    assert found in expected, (what, errno.errorcode.get(found, found))

def rename(old, new, flags):
    return libc.renameat2(-100, old, -100, new, flags)

NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
for name in ("a", "b"):
    open(name, "w").write("x" * 5000)
# As the kernel's own client of NFS (fs/nfs/dir.c, nfs_rename): any flag is EINVAL. What is there the kernel knows by itself.
expect("spared", lambda: rename(b"a", b"b", NOREPLACE), errno.EEXIST)
expect("new name", lambda: rename(b"a", b"c", NOREPLACE), errno.EINVAL)
expect("exchange", lambda: rename(b"a", b"b", EXCHANGE), errno.EINVAL)
expect("whiteout", lambda: rename(b"a", b"c", WHITEOUT), errno.EINVAL)
expect("unnamed", lambda: os.open(".", os.O_TMPFILE | os.O_RDWR), errno.EOPNOTSUPP)

fd = os.open("a", os.O_RDWR)
allocate = lambda mode: libc.fallocate(fd, mode, ctypes.c_long(0), ctypes.c_long(8192))
expect("allocate", lambda: allocate(0), 0 if has_allocate else errno.EOPNOTSUPP)
expect("punch", lambda: allocate(3), 0 if has_allocate else errno.EOPNOTSUPP)
for mode in (1, 2, 8, 16, 32, 64):
    expect(f"fallocate {mode}", lambda: allocate(mode), errno.EOPNOTSUPP)
expect("posix_fallocate", lambda: os.posix_fallocate(fd, 0, 10_000), 0)
FLAGS, EXTENTS, CLONE, TERMINAL = 0x80086601, 0xc020660b, 0x40049409, 0x5401
expect("flags", lambda: fcntl.ioctl(fd, FLAGS, bytearray(8)), errno.ENOTTY)
expect("terminal", lambda: fcntl.ioctl(fd, TERMINAL, bytearray(64)), errno.ENOTTY)
expect("extents", lambda: fcntl.ioctl(fd, EXTENTS, bytearray(32)), errno.EOPNOTSUPP)
expect("clone", lambda: fcntl.ioctl(fd, CLONE, os.open("b", os.O_RDONLY)), errno.EOPNOTSUPP, errno.ENOTTY)

expect("long name", lambda: os.mkdir("n" * 256), errno.ENAMETOOLONG)
names = [b"n" * 255, b"\xff\xfe\x01 *\n\\", "ä".encode() * 127, b"-rf", b"..."]
for name in names:
    os.mkdir(name)
assert set(names) <= set(os.listdir(b"."))

deep = os.open(".", os.O_RDONLY)
for _ in range(60):
    os.mkdir("d" * 100, dir_fd=deep)
    below = os.open("d" * 100, os.O_RDONLY, dir_fd=deep)
    os.close(deep)
    deep = below
os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deep))
assert os.listdir(deep) == ["file"]

TIB = 1 << 40
assert os.pwrite(fd, b"end", TIB) == 3 and os.fstat(fd).st_size == TIB + 3
assert os.pread(fd, 4096, TIB - 4093) == bytes(4093) + b"end"
P
python3 /tmp/case.py
echo 1 >first
echo 2 >second
mv -n first second
test "$(cat second)" = 2
mv -n first third
test "$(cat third)" = 1
rm -rf ./* ./...
test -z "$(ls -A)"
