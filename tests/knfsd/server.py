"""Asks the machine of the server for locks and restarts. What is locked is `file` in the directory of the case."""
import faulthandler
import fcntl
import os
import shlex
import struct
import subprocess
import time

# Directories of that machine in which the files of this mount are.
PLACES = os.environ["PLACES"].split()
# For how long something that must come is waited for, in seconds.
PATIENCE_S = 40
# Whoever waits longer for a lock than that says where.
faulthandler.dump_traceback_later(PATIENCE_S + 10)


def until(is_so, what):
    """Waits until something is so, and gives it."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"{what} never came"
        time.sleep(0.05)
    return found


# What asks. It is started before a file is open and not in a directory of the mount, whose client may be stopped: a process that is started
# later would close the file and wait for that.
SHELL = subprocess.Popen(["bash"], cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
END = "that was all"


def there(line):
    """What a shell line prints there."""
    SHELL.stdin.write(f"in_guest {shlex.quote(line)}; echo; echo '{END}'\n")
    SHELL.stdin.flush()
    said = []
    while (text := SHELL.stdout.readline()).rstrip("\n") != END:
        assert text, "the shell ended"
        said.append(text)
    return "".join(said).strip()


def restart():
    there(os.environ["RESTART"])


def ask(place, how, first, length):
    """What a process there gets: "granted" or an error; of "test" the range in the way or "free"."""
    return there(f"python3 ask.py {how} {place}/file {first} {length}")


class Hold:
    """A process there that has a lock, or waits for it, until it is told to let it go."""
    count = 0

    def __init__(self, place, how, first, length):
        Hold.count += 1
        self.name = f"hold-{Hold.count}"
        there(f"touch {self.name}; python3 ask.py {how} {place}/file {first} {length} {self.name} >{self.name}.out 2>&1 &")

    def heard(self):
        return there(f"cat {self.name}.out")

    def wait(self):
        return until(self.heard, f"the answer to {self.name}")

    def end(self):
        there(f"rm {self.name}")


def lock(fd, first, length, how=0):
    fcntl.lockf(fd, fcntl.LOCK_EX | how, length, first)


def unlock(fd, first=0, length=0):
    fcntl.lockf(fd, fcntl.LOCK_UN, length, first)


def attempt(fd, first, length):
    """Whether this process gets a lock at once."""
    try:
        lock(fd, first, length, fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def tested(fd, first, length):
    """The start and the length of the lock in this process's way."""
    asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, first, length, 0)
    kind, _, start, found, _ = struct.unpack("hhqqi", fcntl.fcntl(fd, fcntl.F_GETLK, asked))
    return None if kind == fcntl.F_UNLCK else (start, found)
