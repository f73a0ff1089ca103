# The server is killed and started again under load, RESTARTS times. The client waits and goes on, and nothing that was
# acknowledged is lost.
#
# A change that was made and not answered, or whose reply was lost, is answered when it comes again: the server keeps
# note of it on disk.
if [ "$KNFSD" = 1 ]; then
  echo "the guest's own server cannot be killed"
  exit 77
fi
cat >/tmp/case.py <<'X'
import os
import threading
import time
import traceback

stop = threading.Event()
errors = []
rounds = {}

def load(work):
    def loop():
        number = 0
        try:
            while not stop.is_set():
                work(number)
                number += 1
        except BaseException as error:
            line = traceback.extract_tb(error.__traceback__)[-1].line
            errors.append(f"{work.__name__}, round {number}: {error!r} at {line}")
        rounds[work.__name__] = number
    return threading.Thread(target=loop)

kept = os.open("kept", os.O_CREAT | os.O_RDWR)

def write_one_open_file(number):
    data = b"%016d" % number * 512
    os.pwrite(kept, data, number % 64 * len(data))
    os.fsync(kept)
    assert os.pread(kept, len(data), number % 64 * len(data)) == data

def make_and_remove(number):
    fd = os.open(f"file-{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(fd, b"x" * 10000)
    os.close(fd)
    os.rename(f"file-{number}", f"renamed-{number}")
    assert os.stat(f"renamed-{number}").st_size == 10000
    os.mkdir(f"dir-{number}")
    assert os.stat(f"dir-{number}").st_nlink == 2
    os.rmdir(f"dir-{number}")
    os.unlink(f"renamed-{number}")
    assert not os.path.exists(f"dir-{number}") and not os.path.exists(f"renamed-{number}")

def write_much(number):
    with open(f"much-{number % 4}", "wb", buffering=0) as file:
        for block in range(32):
            file.write(b"%08d" % (number + block) * 4096)
        os.fsync(file.fileno())
    with open(f"much-{number % 4}", "rb") as file:
        for block in range(32):
            assert file.read(32768) == b"%08d" % (number + block) * 4096, block

def look_around(number):
    os.listdir(".")
    os.stat("kept")
    os.statvfs(".")

threads = [load(work) for work in (write_one_open_file, make_and_remove, write_much, look_around)]
for thread in threads:
    thread.start()
RESTARTS = int(os.environ["RESTARTS"])
for restart in range(RESTARTS):
    time.sleep(2)
    open("/share/restart", "w").close()
    while os.path.exists("/share/restart"):
        time.sleep(0.1)
time.sleep(5)
stop.set()
for thread in threads:
    thread.join()
assert not errors, errors
assert all(count > 3 for count in rounds.values()), rounds
print(rounds)
X
python3 /tmp/case.py
