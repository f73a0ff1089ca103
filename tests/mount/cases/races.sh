# Threads that open, read, write, remove and rename the same few names never see an I/O error, and leave no hidden names
# behind. A stale file is rare: the kernel looks a name up twice at the most, and each time others may replace it.
timeout -k 5 50 python3 - <<'X'
import errno
import os
import random
import threading
import time

NAMES = [f"name-{number}" for number in range(5)]
SECONDS = 5
errors, stale, steps = [], [], []

def write(name, chance):
    file = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        os.write(file, b"x" * chance.randrange(1, 9000))
        os.pread(file, 100, 0)
    finally:
        os.close(file)

def read(name, chance):
    file = os.open(name, os.O_RDONLY)
    try:
        os.read(file, 10_000)
        time.sleep(0.001 * chance.randrange(3))
        os.pread(file, 100, 50)
    finally:
        os.close(file)

def remove(name, chance):
    os.unlink(name)

def rename(name, chance):
    os.rename(name, chance.choice(NAMES))

def work(seed):
    chance, end = random.Random(seed), time.monotonic() + SECONDS
    while time.monotonic() < end:
        step = chance.choice((write, read, remove, rename))
        try:
            step(chance.choice(NAMES), chance)
        except FileNotFoundError:
            pass
        except OSError as error:
            (stale if error.errno == errno.ESTALE else errors).append(f"{step.__name__}: {error}")
        steps.append(step)

threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
assert 100 * len(stale) < len(steps), stale
print(f"{len(steps)} steps, {len(stale)} stale")
for _ in range(100):
    hidden = [name for name in os.listdir(".") if name.startswith(".nfs")]
    if not hidden:
        break
    time.sleep(0.1)
assert not hidden, hidden
X
