# Copies at the server of NFSv4.2 that go on behind the reply: a long file is copied with one COPY, compared byte by byte, and
# the server calls the client to tell the end; a copy that is interrupted is cancelled.
case $VERSION in
  4.2) ;;
  *)
    echo "copies at the server are in NFSv4.2 (RFC 7862)"
    exit 77
    ;;
esac
cat >/tmp/case.py <<'END'
import os
import re
import signal
import subprocess
import sys
import time

LENGTH = 384 << 20
PIECE = 1 << 20

def counts():
    # Operations of this mount, and how many calls the server made to this client.
    with open("/proc/self/mountstats") as file:
        text = file.read()
    operations = {name: int(count) for name, count in re.findall(r"^\s+(\w+): (\d+) ", text, re.M)}
    return {name: operations.get(name, 0) for name in ("COPY", "OFFLOAD_CANCEL", "OFFLOAD_STATUS")}

def since(before):
    return {name: count - before[name] for name, count in counts().items()}

with open("long", "wb") as file:
    for number in range(LENGTH // PIECE):
        file.write(os.urandom(PIECE))
    file.flush()
    os.fsync(file.fileno())

before, began = counts(), time.monotonic()
source, copy = os.open("long", os.O_RDONLY), os.open("copy", os.O_CREAT | os.O_RDWR)
done = os.copy_file_range(source, copy, LENGTH)
took = time.monotonic() - began
assert done == LENGTH, done
whole = since(before)
assert whole["COPY"] == 1, whole
os.close(copy)
os.sync()
with open("/proc/sys/vm/drop_caches", "w") as file:
    file.write("3")
with open("long", "rb") as one, open("copy", "rb") as other:
    while piece := one.read(PIECE):
        assert piece == other.read(PIECE), one.tell()
    assert not other.read(1)

# The kernel asks for the status of a copy only after three seconds: one that ends before was told of by CB_OFFLOAD.
for attempt in range(5):
    before = counts()
    source, copy = os.open("long", os.O_RDONLY), os.open("short", os.O_CREAT | os.O_TRUNC | os.O_RDWR)
    assert os.copy_file_range(source, copy, 32 << 20) == 32 << 20
    os.close(copy)
    told = since(before)
    assert told["COPY"] == 1, told
    if told["OFFLOAD_STATUS"] == 0:
        break
else:
    raise AssertionError("no copy was told of by a callback")

# Copies into one file follow one another, and one is interrupted. A signal between two of them finds nothing to cancel.
endless = """
import os
source, copy = os.open("long", os.O_RDONLY), os.open("stopped", os.O_CREAT | os.O_RDWR)
for number in range(1000):
    os.lseek(source, 0, os.SEEK_SET)
    os.copy_file_range(source, copy, %d)
""" % LENGTH

def interrupt(delay):
    before = counts()
    child = subprocess.Popen([sys.executable, "-c", endless], stderr=subprocess.DEVNULL)
    while since(before)["COPY"] == 0:
        time.sleep(0.01)
    time.sleep(delay)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=30) != 0
    deadline = time.monotonic() + 10
    while since(before)["OFFLOAD_CANCEL"] == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    return since(before)["OFFLOAD_CANCEL"]

for delay in (0.3, 0.0, 0.1, 0.2, 0.4):
    cancelled = interrupt(delay)
    if cancelled:
        break
assert cancelled >= 1, "no copy was cancelled"
size = os.stat("stopped").st_size
time.sleep(1)
assert os.stat("stopped").st_size == size, "it is still being written"
print(f"{done >> 20} MiB in {took:.2f} s, {whole}, cancelled after {size >> 20} MiB")
END
python3 /tmp/case.py
