# Locks by fcntl and flock: refused, waited for, interrupted, given up by close and by death. They hold on another mount, too.
"$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "$OPTIONS"
other=$OTHER/$(basename "$PWD")
status=0
timeout -k 5 50 python3 - . "$other" <<'X' || status=$?
import errno
import fcntl
import os
import signal
import struct
import sys
import time

def child(action):
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(action() or 0)
        except OSError as error:
            os._exit(error.errno)
    return pid

def result(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def opened(place, name="file"):
    return os.open(f"{place}/{name}", os.O_CREAT | os.O_RDWR)

def attempt(place, kind, start=0, length=0):
    """What another process gets when it wants this lock at once: 0 or an error."""
    return result(child(lambda: fcntl.lockf(opened(place), kind | fcntl.LOCK_NB, length, start)))

own = opened(".")
for place in sys.argv[1:]:
    fcntl.lockf(own, fcntl.LOCK_EX, 100, 0)
    fcntl.lockf(own, fcntl.LOCK_SH, 100, 100)
    assert attempt(place, fcntl.LOCK_EX, 50, 1) == errno.EAGAIN, place
    assert attempt(place, fcntl.LOCK_SH, 50, 1) == errno.EAGAIN, place
    assert attempt(place, fcntl.LOCK_SH, 150, 1) == 0, place
    assert attempt(place, fcntl.LOCK_EX, 150, 1) == errno.EAGAIN, place
    assert attempt(place, fcntl.LOCK_EX, 200, 0) == 0, place
    fcntl.lockf(own, fcntl.LOCK_UN, 10, 50)
    assert attempt(place, fcntl.LOCK_EX, 50, 10) == 0, place
    assert attempt(place, fcntl.LOCK_EX, 49, 2) == errno.EAGAIN, place

    # Somebody waits, and gets it when it is given up.
    waiter = child(lambda: fcntl.lockf(opened(place), fcntl.LOCK_EX, 10, 0))
    time.sleep(0.3)
    assert os.waitpid(waiter, os.WNOHANG) == (0, 0), place
    fcntl.lockf(own, fcntl.LOCK_UN)
    assert result(waiter) == 0, place

    # One who waits is interrupted by a signal, and by death.
    fcntl.lockf(own, fcntl.LOCK_EX)
    def interrupted():
        def ring(*_):
            raise InterruptedError(errno.EINTR, "rang")
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        fcntl.lockf(opened(place), fcntl.LOCK_EX)
    assert result(child(interrupted)) == errno.EINTR, place
    waiter = child(lambda: fcntl.lockf(opened(place), fcntl.LOCK_EX))
    time.sleep(0.3)
    os.kill(waiter, signal.SIGTERM)
    assert result(waiter) == -signal.SIGTERM, place
    fcntl.lockf(own, fcntl.LOCK_UN)
    assert attempt(place, fcntl.LOCK_EX) == 0, place

    # The locks of a process go when it closes the file by any descriptor, and when it dies.
    fcntl.lockf(own, fcntl.LOCK_EX)
    os.close(opened("."))
    assert attempt(place, fcntl.LOCK_EX) == 0, place
    holder = child(lambda: (fcntl.lockf(opened("."), fcntl.LOCK_EX), time.sleep(60)) and 0)
    deadline = time.monotonic() + 20
    while attempt(place, fcntl.LOCK_EX) == 0:
        assert time.monotonic() < deadline
    os.kill(holder, signal.SIGKILL)
    result(holder)
    while attempt(place, fcntl.LOCK_EX) != 0:
        assert time.monotonic() < deadline

    # Whoever gets a lock sees what was written before it was given up, whatever he has read and asked for by this descriptor before.
    for number, kind in enumerate((fcntl.lockf, fcntl.flock)):
        reader = opened(".", f"shared-{number}")
        os.pwrite(reader, b"first", 0)
        for text in (b"other", b"a longer text", b"short"):
            kind(reader, fcntl.LOCK_SH)
            os.pread(reader, 100, 0), os.fstat(reader)
            kind(reader, fcntl.LOCK_UN)
            def writes():
                writer = opened(place, f"shared-{number}")
                kind(writer, fcntl.LOCK_EX)
                os.ftruncate(writer, len(text))
                os.pwrite(writer, text, 0)
                kind(writer, fcntl.LOCK_UN)
            assert result(child(writes)) == 0, place
            kind(reader, fcntl.LOCK_SH)
            seen = os.pread(reader, 100, 0), os.fstat(reader).st_size
            assert seen == (text, len(text)), (place, kind, seen, text)
            kind(reader, fcntl.LOCK_UN)
        os.close(reader)

    # Locks of open files: a copy of the descriptor that is closed does not give them up, the last one does.
    F_OFD_SETLK = 37
    def locks_open_file(fd):
        fcntl.fcntl(fd, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 10, 0))
    first = opened(".", "open-file")
    locks_open_file(first)
    os.close(os.dup(first))
    refused = child(lambda: locks_open_file(opened(place, "open-file")))
    assert result(refused) == errno.EAGAIN, place
    os.close(first)
    while result(child(lambda: locks_open_file(opened(place, "open-file")))) != 0:
        assert time.monotonic() < deadline, "a lock outlives its open file"

    # flock: whole files, by open files and not by processes.
    first = opened(".", "whole")
    fcntl.flock(first, fcntl.LOCK_SH)
    def other(kind):
        return result(child(lambda: fcntl.flock(opened(place, "whole"), kind | fcntl.LOCK_NB)))
    assert other(fcntl.LOCK_SH) == 0 and other(fcntl.LOCK_EX) == errno.EAGAIN, place
    fcntl.flock(first, fcntl.LOCK_UN)
    # What a process has by flock goes some time after its death.
    while other(fcntl.LOCK_EX) != 0:
        assert time.monotonic() < deadline
    fcntl.flock(first, fcntl.LOCK_EX)
    assert other(fcntl.LOCK_SH) == errno.EAGAIN, place
    os.close(first)
    while other(fcntl.LOCK_SH) != 0:
        assert time.monotonic() < deadline
X
umount "$OTHER"
exit $status
