# A file is changed through memory, and everybody else sees the change.
cat >/tmp/case.py <<'X'
import mmap
import os
import subprocess

SIZE = 8 << 20
fd = os.open("mapped", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, SIZE)
view = mmap.mmap(fd, SIZE)
expected = bytearray(SIZE)
for page in range(0, SIZE, 4096 * 3):
    text = b"page at %d" % page
    view[page:page + len(text)] = text
    expected[page:page + len(text)] = text
view[SIZE - 3:] = expected[SIZE - 3:] = b"end"
view.flush()
subprocess.run(["sh", "-c", "echo 3 >/proc/sys/vm/drop_caches"], check=True)
assert open("mapped", "rb").read() == expected
assert view[SIZE - 3:] == b"end"
with open("mapped", "r+b") as other:
    other.seek(4096)
    other.write(b"by write")
assert view[4096:4104] == b"by write"
view.close()
os.close(fd)
# The server's own copy, seen past the client.
if os.path.exists("/share/export/mmap/mapped"):
    expected[4096:4104] = b"by write"
    os.sync()
    assert open("/share/export/mmap/mapped", "rb").read() == expected
X
python3 /tmp/case.py
