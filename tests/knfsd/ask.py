"""Asks for a lock by fcntl, and says what came of it.

ask.py now|wait|test PATH FIRST LENGTH [HOLD]: with HOLD the lock is kept until that file goes.
"""
import errno
import fcntl
import os
import struct
import sys
import time

how, path, first, length = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
fd = os.open(path, os.O_RDWR)
try:
    if how == "test":
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, first, length, 0)
        kind, _, start, found, _ = struct.unpack("hhqqi", fcntl.fcntl(fd, fcntl.F_GETLK, asked))
        print("free" if kind == fcntl.F_UNLCK else f"{start}+{found}", flush=True)
    else:
        fcntl.lockf(fd, fcntl.LOCK_EX | (fcntl.LOCK_NB if how == "now" else 0), length, first)
        print("granted", flush=True)
        while len(sys.argv) > 5 and os.path.exists(sys.argv[5]):
            time.sleep(0.05)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
