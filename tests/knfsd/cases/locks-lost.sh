# A lock that somebody else took while the server's restart was not noticed is lost: nothing is written under it until it is given up.
for way in $WAYS; do
  case $way in vers=2 | *udp) continue ;; esac
  echo "$way"
  "$WHARF" mount "$URL" "$MNT" -o "$way" --foreground &
  client=$!
  until mountpoint -q "$MNT"; do sleep 0.1; done
  cp "$CHECKS/ask.py" "$MNT/"
  (cd "$MNT" && PYTHONPATH=$CHECKS PLACES=$DIR CLIENT=$client timeout 60 python3 -) <<'P'
import errno
import os
import signal

from server import Hold, PLACES, attempt, lock, restart, unlock, until

client = int(os.environ["CLIENT"])
own = os.open("file", os.O_CREAT | os.O_RDWR)
os.write(own, b"x" * 100)
lock(own, 10, 20)
os.kill(client, signal.SIGSTOP)
restart()
holder = Hold(PLACES[0], "wait", 10, 20)
assert holder.wait() == "granted"
os.kill(client, signal.SIGCONT)

def refused():
    try:
        os.pwrite(own, b"y", 0)
    except OSError as error:
        assert error.errno == errno.EIO, error
        return True

until(refused, "the error")
unlock(own)
os.pwrite(own, b"z", 0)
assert not attempt(own, 15, 1)
holder.end()
until(lambda: attempt(own, 15, 1), "the lock")
os.close(own)
P
  umount "$MNT"
  wait "$client"
done
