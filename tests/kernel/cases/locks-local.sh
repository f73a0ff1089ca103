# Locks of a client and of a process on the server's machine meet, both ways.
if [ "$KNFSD" = 1 ]; then
  echo "nothing runs beside the guest's own server"
  exit 77
fi
export DIR="${PWD#"$MNT"/}"
cat >/tmp/case.py <<'X'
import fcntl
import os
import time

LOCAL = """
import fcntl, os, time
fd = os.open("{path}", os.O_RDWR)
try:
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, {length}, {first})
    print("granted", flush=True)
except OSError:
    print("refused", flush=True)
else:
    time.sleep({stays_s})
"""

def local(first, length, stays_s=0):
    """What a process on the server's machine hears that wants a lock. It may keep the lock for a while."""
    path = f"{os.environ['DIR']}/held"
    script = LOCAL.format(path=path, first=first, length=length, stays_s=stays_s)
    with open("/share/local.new", "w") as file:
        background = " &" if stays_s else ""
        file.write(f"python3 -c '{script}'{background}\nsleep 0.5\n")
    os.rename("/share/local.new", "/share/local")
    while os.path.exists("/share/local"):
        time.sleep(0.05)
    with open("/share/local.out") as file:
        return file.read().strip()

held = os.open("held", os.O_CREAT | os.O_RDWR)
os.write(held, b"x" * 200)
os.fsync(held)
fcntl.lockf(held, fcntl.LOCK_EX, 50, 100)
assert local(140, 10) == "refused"
assert local(150, 10) == "granted"
fcntl.lockf(held, fcntl.LOCK_UN, 25, 125)
assert local(120, 10) == "refused"
assert local(125, 10) == "granted"
fcntl.lockf(held, fcntl.LOCK_UN, 25, 100)
assert local(0, 0) == "granted"

assert local(10, 10, stays_s=4) == "granted"
try:
    fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 19)
    raise AssertionError("the client has a lock that a local process holds")
except OSError:
    pass
fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 20)
fcntl.lockf(held, fcntl.LOCK_EX, 1, 19)
print("a client and a local process refused each other")
X
python3 /tmp/case.py
