# Threads that open, read, write, remove and rename the same few names never see a stale file or an I/O error, and leave no
# hidden names behind.
timeout -k 5 50 python3 - <<'X'
import os
import random
import threading
import time

NAMES = [f"name-{number}" for number in range(5)]
SECONDS = 5
errors = []

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
            errors.append(f"{step.__name__}: {error}")

threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
for _ in range(100):
    hidden = [name for name in os.listdir(".") if name.startswith(".nfs")]
    if not hidden:
        break
    time.sleep(0.1)
assert not hidden, hidden
X
