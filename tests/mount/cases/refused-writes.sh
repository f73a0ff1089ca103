# What the server refuses of what was written is told at fsync or close, with the server's reason, and once.
mkdir /tmp/export /tmp/mnt
server=
trap 'umount -l /tmp/mnt 2>/dev/null || true; kill "$server" 2>/dev/null || true' EXIT
port=$((PORT + 2))
for reason in quota nospace; do
  "$WHARF_PROGRAM" serve /tmp/export --no-root-squash --listen "127.0.0.1:$port" --state-dir "/tmp/state-$reason" \
    --fault "write:error=$reason" >/tmp/server.log 2>&1 &
  server=$!
  tries=0
  until "$WHARF_PROGRAM" mount "nfs://127.0.0.1:$port/tmp/export" /tmp/mnt -o "vers=$VERSION,mountport=$port,retry=0" 2>/tmp/mount.log; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { cat /tmp/mount.log; exit 1; }
    sleep 0.1
  done
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
  umount /tmp/mnt
  kill "$server"
  wait "$server" || true
done
