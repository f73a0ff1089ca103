"""One of three sides, each in its own view of the same directory: guest1, guest2 and local, a process beside the server.

They go through the same steps together. In each step every side does its part, and says so in a file of DIR; none goes on
before all have.
"""
import errno
import fcntl
import os
import sys
import time

ME, SAID = sys.argv[1:]
SIDES = ["guest1", "guest2", "local"]
# The longest that the others may take to come to a step, in seconds.
PATIENCE_S = 150
step = 0


def together(what):
    """Waits until every side has come here."""
    global step
    step += 1
    open(f"{SAID}/{step}.{ME}", "w").close()
    until = time.monotonic() + PATIENCE_S
    while not all(os.path.exists(f"{SAID}/{step}.{side}") for side in SIDES):
        assert time.monotonic() < until, f"the others did not come: {what}"
        time.sleep(0.02)


def is_refused(lock):
    try:
        lock()
        return False
    except OSError as error:
        assert error.errno in (errno.EACCES, errno.EAGAIN), error
        return True


def ranges(holder):
    """`holder` locks bytes 100 to 149; the others are refused within and granted beside."""
    fd = os.open("ranges", os.O_RDWR)
    exclusive = fcntl.LOCK_EX | fcntl.LOCK_NB
    if ME == holder:
        fcntl.lockf(fd, exclusive, 50, 100)
    together(f"{holder} has locked")
    if ME != holder:
        assert is_refused(lambda: fcntl.lockf(fd, exclusive, 1, 149)), "a lock was granted twice"
        assert is_refused(lambda: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 100)), "shared beside exclusive"
        mine = 200 + 10 * SIDES.index(ME)
        fcntl.lockf(fd, exclusive, 10, mine)
    together(f"the others have tried while {holder} held")
    os.close(fd)
    together(f"{holder} has unlocked")


def whole_file(holder):
    """flock: exclusive for `holder`, then shared by both guests.

    A client turns flock into a lock of all bytes (nfs(5)), which a local process meets with fcntl.
    """
    fd = os.open("whole", os.O_RDWR)
    lock = fcntl.lockf if ME == "local" else fcntl.flock
    if ME == holder:
        lock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    together(f"{holder} has locked all")
    if ME != holder:
        assert is_refused(lambda: lock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)), "flock was granted twice"
    together(f"the others have tried while {holder} held all")
    if ME == holder:
        lock(fd, fcntl.LOCK_UN)
    together(f"{holder} has unlocked all")
    lock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    together("all share")
    os.close(fd)
    together("all have closed")


def waiting():
    """Both guests and the local process count in turn under a lock that they wait for: no count is lost."""
    for _ in range(10):
        fd = os.open("count", os.O_RDWR)
        fcntl.lockf(fd, fcntl.LOCK_EX)
        count = int(os.pread(fd, 20, 0))
        os.pwrite(fd, b"%020d" % (count + 1), 0)
        if ME != "local":
            os.fsync(fd)
        fcntl.lockf(fd, fcntl.LOCK_UN)
        os.close(fd)
    together("all have counted")
    with open("count") as file:
        fcntl.lockf(file, fcntl.LOCK_SH)
        assert int(file.read()) == 30, "a count was lost"
    together("all have read the count")


def delegated(reader, writer):
    """`reader` has a file open, and perhaps delegated; `writer` changes it, and the reader's next open sees that."""
    name = f"shared-{reader}"
    if ME == writer:
        with open(name, "w") as file:
            file.write("before")
    together("it is written")
    if ME == reader:
        for _ in range(3):
            with open(name) as file:
                assert file.read() == "before"
    together("it is read")
    if ME == writer:
        began = time.monotonic()
        with open(name, "w") as file:
            file.write("after that")
        assert time.monotonic() - began < 15, "a delegation was not given back in time"
    together("it is changed")
    if ME != writer:
        with open(name) as file:
            assert file.read() == "after that", f"{ME} reads what was there before"
    together("the change is seen")


if ME == "local":
    for name, content in [("ranges", ""), ("whole", ""), ("count", "%020d" % 0)]:
        with open(name, "w") as file:
            file.write(content)
together("the files are there")
for side in SIDES:
    ranges(side)
for side in SIDES:
    whole_file(side)
waiting()
delegated("guest1", "guest2")
delegated("guest2", "guest1")
print(f"{step} steps: ranges, whole files, {10 * len(SIDES)} turns of a lock that is waited for, delegations")
