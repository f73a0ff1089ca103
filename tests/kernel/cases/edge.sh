# The largest file that there can be, of 2^63 - 1 bytes, is read and written up to its last byte. Files in memory can be that large.
if [ "$VERSION" = 2 ]; then
  echo "sizes of version 2 have 32 bits"
  exit 77
fi
if [ "$KNFSD" = 1 ]; then
  echo "the guest's own server has no file system with such files"
  exit 77
fi
mkdir -p /edge
if [ "$VERSION" = 3 ]; then
  mount -t nfs -o "vers=3,nolock,$OPTIONS,port=2049,mountport=2049,mountproto=$TRANSPORT" "$SERVER:/memory" /edge
else
  mount -t nfs -o "vers=$VERSION,$OPTIONS,port=2049" "$SERVER:/memory" /edge
fi
finish() {
  cd /
  rm -f /edge/largest
  umount /edge
}
trap finish EXIT
cat >/tmp/case.py <<'X'
import os

LIMIT = 2**63 - 1
fd = os.open("/edge/largest", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, LIMIT)
assert os.pwrite(fd, b"e", LIMIT - 1) == 1
os.fsync(fd)
for attempt in "cached", "read again":
    assert os.pread(fd, 1, LIMIT - 1) == b"e", attempt
    assert os.pread(fd, 3, LIMIT - 3) == b"\0\0e", attempt
    os.close(fd)
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")
    fd = os.open("/edge/largest", os.O_RDWR)
assert os.fstat(fd).st_size == LIMIT
os.close(fd)
X
python3 /tmp/case.py
