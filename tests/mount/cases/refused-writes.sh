# What the server refuses of what was written is told at fsync or close, with the server's reason, and once.
. "$OWN_SERVER"
mkdir /tmp/export
for reason in quota nospace; do
  serve_own /tmp/export --no-root-squash --fault "write:error=$reason"
  mount_own /tmp/export
  cat >/tmp/case.py <<X
import errno
import os

def refused(work):
    try:
        work()
    except OSError as error:
        return errno.errorcode[error.errno]
    return None

expected = {"quota": "EDQUOT", "nospace": "ENOSPC"}["$reason"]
fd = os.open("/tmp/mnt/$reason-close", os.O_CREAT | os.O_WRONLY)
assert os.write(fd, b"x" * 5000) == 5000
assert refused(lambda: os.close(fd)) == expected
fd = os.open("/tmp/mnt/$reason-sync", os.O_CREAT | os.O_WRONLY)
assert os.write(fd, b"x" * 5000) == 5000
assert refused(lambda: os.fsync(fd)) == expected
assert refused(lambda: os.fsync(fd)) is None, "it is told once"
os.close(fd)

# Every open of the file is told, once, whoever is told first; one that comes later is not.
path = "/tmp/mnt/$reason-shared"
writer, reader = os.open(path, os.O_CREAT | os.O_WRONLY), os.open(path, os.O_RDONLY)
(is_open, opened), (has_failed, failed) = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    other = os.open(path, os.O_WRONLY)
    os.write(opened, b"!")
    os.read(has_failed, 1)
    os._exit(0 if refused(lambda: os.close(other)) == expected else 1)
os.read(is_open, 1)
assert os.write(writer, b"x" * 5000) == 5000
assert refused(lambda: os.fsync(writer)) == expected
os.write(failed, b"!")
assert os.waitpid(pid, 0)[1] == 0, "the other writer is told at its close"
assert refused(lambda: os.fsync(reader)) == expected
assert refused(lambda: os.fsync(reader)) is None
late = os.open(path, os.O_WRONLY)
for fd in late, writer, reader:
    os.close(fd)
assert os.stat("/tmp/mnt/$reason-sync").st_size == 0
X
  python3 /tmp/case.py
  end_own
done
