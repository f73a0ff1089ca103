# A lock outlives the server's restart. Over UDP that may be noticed only when the grace period of these servers is over.
for way in $WAYS; do
  case $way in vers=2 | *udp) continue ;; esac
  echo "$way"
  "$WHARF" mount "$URL" "$MNT" -o "$way"
  cp "$CHECKS/ask.py" "$MNT/"
  (cd "$MNT" && PYTHONPATH=$CHECKS PLACES=$DIR timeout 60 python3 -) <<'P'
import os

from server import PLACES, ask, lock, restart, unlock, until

own = os.open("file", os.O_CREAT | os.O_RDWR)
os.write(own, b"x" * 100)
lock(own, 10, 20)
restart()
place = PLACES[0]
# Asked without taking it: processes of the server's machine are not kept from what is reclaimed.
until(lambda: ask(place, "test", 0, 0) == "10+20", "the lock")
assert ask(place, "now", 15, 1) == "EAGAIN"
os.write(own, b"y" * 100)
os.fsync(own)
# New locks are there when the grace period is over.
lock(own, 40, 10)
assert ask(place, "test", 35, 0) == "40+10"
unlock(own)
assert ask(place, "test", 0, 0) == "free"
P
  umount "$MNT"
done
