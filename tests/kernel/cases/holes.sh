# Holes of NFSv4.2: a sparse file is read whole and in odd pieces and compared with the server's own copy, byte by byte;
# data and holes are found, space is kept and given back, ranges are copied at the server and cloned where it can.
case $VERSION in
  4.2) ;;
  *)
    echo "holes are in NFSv4.2 (RFC 7862)"
    exit 77
    ;;
esac
cat >/tmp/case.py <<'END'
import ctypes
import errno
import fcntl
import os
import random

LIBC = ctypes.CDLL(None, use_errno=True)
KEEP_SIZE, PUNCH_HOLE = 1, 2
FICLONE = 0x40049409
BLOCK = 4096

def fallocate(fd, mode, offset, length):
    if LIBC.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")

def forget():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")

# Data of every fourth length up to 19 blocks, with holes between, and an end that is no block's.
chance = random.Random(1)
expected = bytearray()
fd = os.open("sparse", os.O_CREAT | os.O_RDWR)
while len(expected) < 8 << 20:
    hole, data = chance.randrange(1, 20) * BLOCK, chance.randrange(1, 20 * BLOCK)
    expected += bytes(hole) + chance.randbytes(data)
    os.pwrite(fd, expected[-data:], len(expected) - data)
expected += bytes(70001)
os.ftruncate(fd, len(expected))
os.fsync(fd)
os.close(fd)
forget()
with open("sparse", "rb") as file:
    assert file.read() == expected, "read whole"
forget()
fd = os.open("sparse", os.O_RDWR)
for _ in range(300):
    offset, length = chance.randrange(len(expected)), chance.randrange(1, 200000)
    assert os.pread(fd, length, offset) == expected[offset:offset + length], (offset, length)
direct = os.open("sparse", os.O_RDONLY | os.O_DIRECT)
import mmap
memory = mmap.mmap(-1, 1 << 20)
for offset in range(0, len(expected), 1 << 20):
    count = os.preadv(direct, [memory], offset)
    assert memory[:count] == expected[offset:offset + (1 << 20)], offset
os.close(direct)

# Every extent, by seeking; what is called a hole has no byte but zero, and both ends meet.
at, holes = 0, 0
while at < len(expected):
    try:
        data = os.lseek(fd, at, os.SEEK_DATA)
    except OSError as error:
        assert error.errno == errno.ENXIO, error
        data = len(expected)
    assert not any(expected[at:data]), (at, data)
    holes += data > at
    if data == len(expected):
        break
    at = os.lseek(fd, data, os.SEEK_HOLE)
    assert at > data
assert holes > 20, holes
for what in (os.SEEK_DATA, os.SEEK_HOLE):
    try:
        os.lseek(fd, len(expected) + 1, what)
        raise AssertionError("a seek behind the end found something")
    except OSError as error:
        assert error.errno == errno.ENXIO, error

# A hole that is punched, and space that is kept.
expected[1 << 20:(2 << 20) + 7] = bytes((1 << 20) + 7)
before = os.fstat(fd).st_blocks
fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 1 << 20, (1 << 20) + 7)
assert os.fstat(fd).st_blocks < before
assert os.fstat(fd).st_size == len(expected)
forget()
assert os.pread(fd, 3 << 20, 0) == expected[:3 << 20], "after punching"
fallocate(fd, 0, len(expected), 3 << 20)
expected += bytes(3 << 20)
assert os.fstat(fd).st_size == len(expected)
assert os.fstat(fd).st_blocks * 512 >= 3 << 20
forget()
assert os.pread(fd, len(expected), 0) == expected, "after allocating"

# A copy that is made at the server.
copy = os.open("copy", os.O_CREAT | os.O_RDWR)
done = os.lseek(fd, 0, os.SEEK_SET)
while done < len(expected):
    count = os.copy_file_range(fd, copy, len(expected) - done)
    assert count > 0, done
    done += count
forget()
assert os.pread(copy, len(expected), 0) == expected, "the copy"
moved = os.copy_file_range(fd, copy, 100000, 12345, 777)
assert moved == 100000, moved
expected[777:777 + moved] = expected[12345:12345 + moved]
assert os.pread(copy, len(expected), 0) == expected, "a range of the copy"

# A clone, or the right reason why not.
clone = os.open("clone", os.O_CREAT | os.O_RDWR)
try:
    fcntl.ioctl(clone, FICLONE, copy)
    assert os.pread(clone, len(expected), 0) == expected, "the clone"
    cloned = "cloned"
except OSError as error:
    assert error.errno in (errno.EOPNOTSUPP, errno.EXDEV), error
    cloned = f"no clones: {error.strerror}"

def calls(operation):
    """How often the kernel has sent an operation for this mount."""
    here = False
    with open("/proc/self/mountstats") as file:
        for line in file:
            words = line.split()
            if words[:1] == ["device"]:
                here = words[4] == os.environ["MNT"]
            elif here and words[:1] == [operation + ":"]:
                return int(words[1])
    return 0

# A kernel without CONFIG_NFS_V4_2_READ_PLUS reads by READ.
print(f"{holes} holes, {cloned}, {calls('READ_PLUS')} READ_PLUS and {calls('READ')} READ")
END
python3 /tmp/case.py
