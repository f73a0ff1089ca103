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
assert os.stat("/tmp/mnt/$reason-sync").st_size == 0
X
  python3 /tmp/case.py
  end_own
done
