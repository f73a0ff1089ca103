# A server whose file system shares blocks between files clones for `wharf cp`, and copies where it cannot; a mount's copies keep holes.
. "$NOT"
. "$OWN_SERVER"
command -v mkfs.xfs filefrag >/dev/null || { echo "there is no mkfs.xfs or no filefrag"; exit 77; }
mkdir /tmp/xfs /tmp/other
truncate -s 400M /tmp/image
mkfs.xfs -q -m reflink=1 /tmp/image >/tmp/mkfs.log 2>&1 || { echo "mkfs.xfs makes nothing with reflink"; exit 77; }
mount -o loop /tmp/image /tmp/xfs 2>/tmp/loop.log || { echo "nothing can be mounted with a loop device"; exit 77; }
trap 'end_own; umount /tmp/xfs' EXIT
serve_own /tmp/xfs /tmp/other --no-root-squash
mount_own /tmp/xfs
url=nfs://127.0.0.1:$OWN_PORT/tmp

# The server's own files. What is written late has no blocks that could be shared yet.
cd /tmp/xfs
head -c 100 /dev/urandom >short
: >empty
head -c 5000001 /dev/urandom >uneven
head -c 40000000 /dev/urandom >long
cat >/tmp/sparse.py <<'P'
import os

with open("sparse", "wb") as file:
    for offset in (0, 70 << 20, (200 << 20) + 4097):
        file.seek(offset)
        file.write(os.urandom(100_001))
    file.truncate((256 << 20) + 123)
P
python3 /tmp/sparse.py
sync -f .

copy() { "$WHARF_PROGRAM" cp --version "$VERSION" --mountport "$OWN_PORT" "$@"; }
free() { sync -f /tmp/xfs; stat -f -c %f /tmp/xfs; }
is_shared() { filefrag -v "$1" | grep -q shared; }
before=$(free)
for file in short empty uneven long sparse; do
  copy "$url/xfs/$file" "$url/xfs/$file.copy"
  cmp "$file" "$file.copy"
done
test "$(stat -c %b sparse.copy)" -lt 4096
if [ "$VERSION" = 4.2 ]; then
  # The last block too, which CLONE alone can share where it is no whole one.
  for file in short uneven long sparse; do is_shared "$file.copy"; done
  filefrag -v uneven.copy | grep eof | grep -q shared
  # In blocks of 4 KiB: nothing like the 45 MB that were copied.
  test "$((before - $(free)))" -lt 1000
  # Whoever writes to a clone writes to it alone.
  cp uneven /tmp/uneven
  dd if=/dev/zero of=/tmp/mnt/uneven.copy bs=4096 seek=7 count=1 conv=notrunc,fsync status=none
  cmp uneven /tmp/uneven
  not cmp -s uneven uneven.copy
else
  # There is neither CLONE nor COPY.
  not is_shared long.copy
fi

# In place of a longer file.
copy "$url/xfs/uneven" "$url/xfs/long.copy" --overwrite
cmp uneven long.copy
# Another file system cannot share blocks with this one.
copy "$url/xfs/uneven" "$url/other/uneven"
cmp uneven /tmp/other/uneven

cd /tmp/mnt
cp --reflink=auto --sparse=auto sparse by-cp
cmp sparse by-cp
[ "$VERSION" = 4.2 ] || exit 0
cat >/tmp/range.py <<'P'
import os

source = os.open("sparse", os.O_RDONLY)
size = os.fstat(source).st_size


def copy(target, at, to, count):
    done = 0
    while done < count:
        copied = os.copy_file_range(source, target, count - done, at + done, to + done)
        assert copied > 0, (at, to, done)
        done += copied


target = os.open("by-range", os.O_CREAT | os.O_RDWR)
copy(target, 0, 0, size)
assert os.copy_file_range(source, target, 1, size, size) == 0
os.close(target)
# No blocks can be shared from the middle of one to the middle of another.
target = os.open("middle", os.O_CREAT | os.O_RDWR)
copy(target, (70 << 20) + 5, 3, 90_001)
assert os.pread(target, 100_000, 3) == os.pread(source, 90_001, (70 << 20) + 5)
os.close(target)
P
python3 /tmp/range.py
cmp sparse by-range
sync
for file in by-cp by-range; do test "$(stat -c %b "/tmp/xfs/$file")" -lt 4096; done
