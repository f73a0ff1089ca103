# cp keeps holes where the version knows them, and copy_file_range copies; what is copied is what was there.
cat >/tmp/case.py <<'X'
import os
import random

chance = random.Random(2)
data = bytearray(6 << 20)
fd = os.open("sparse", os.O_CREAT | os.O_RDWR)
for offset in range(0, len(data), 1 << 20):
    part = chance.randbytes(100_000)
    data[offset:offset + len(part)] = part
    os.pwrite(fd, part, offset)
os.ftruncate(fd, len(data))
copy = os.open("copy", os.O_CREAT | os.O_RDWR)
done = 0
while done < len(data):
    count = os.copy_file_range(fd, copy, len(data) - done, done, done)
    assert count > 0
    done += count
assert os.pread(copy, len(data), 0) == data
assert os.copy_file_range(fd, copy, 5000, 1 << 20, 3) == 5000
data[3:5003] = data[1 << 20:(1 << 20) + 5000]
os.close(copy)
assert open("copy", "rb").read() == data
X
python3 /tmp/case.py
cp --sparse=always sparse again
cmp sparse again
cp --sparse=auto sparse third
cmp sparse third
cp --reflink=auto sparse fourth
cmp sparse fourth
if [ "$VERSION" = 4.2 ]; then
  sync
  # The server's own files: what cp --sparse left out takes no space.
  test "$(stat -c %b "$WORK/export/copies/again")" -lt 4096
fi
tar cSf all.tar sparse again
mkdir out
tar xf all.tar -C out
cmp sparse out/sparse
