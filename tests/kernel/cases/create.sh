# O_EXCL makes a file once; O_APPEND writes behind what is there; O_TRUNC empties.
cat >/tmp/case.py <<'X'
import errno
import os

fd = os.open("once", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640)
os.write(fd, b"first")
os.close(fd)
assert os.stat("once").st_mode & 0o777 == 0o640, oct(os.stat("once").st_mode)
for flags in os.O_WRONLY, os.O_RDWR | os.O_TRUNC:
    try:
        os.open("once", os.O_CREAT | os.O_EXCL | flags)
        raise SystemExit("a file was made twice")
    except FileExistsError:
        pass
assert open("once").read() == "first"

# Of many that try at once, one wins.
for attempt in range(20):
    children = []
    for child in range(8):
        pid = os.fork()
        if pid == 0:
            try:
                os.open(f"race-{attempt}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
                os._exit(0)
            except FileExistsError:
                os._exit(1)
            except BaseException:
                os._exit(2)
        children.append(pid)
    results = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
    assert results == [0] + [1] * 7, results

for number in range(50):
    with open("log", "a") as log:
        log.write(f"line {number}\n")
assert open("log").read() == "".join(f"line {number}\n" for number in range(50))
fd = os.open("log", os.O_WRONLY | os.O_APPEND)
os.lseek(fd, 0, os.SEEK_SET)
os.write(fd, b"end\n")
os.close(fd)
assert open("log").read().endswith("line 49\nend\n")

with open("log", "w") as log:
    log.write("short")
assert open("log").read() == "short"
os.truncate("log", 3)
os.truncate("log", 6)
assert open("log", "rb").read() == b"sho\0\0\0"
try:
    os.open("log/below", os.O_CREAT | os.O_WRONLY)
    raise SystemExit("a file was made below a file")
except OSError as error:
    assert error.errno == errno.ENOTDIR, error
X
python3 /tmp/case.py
