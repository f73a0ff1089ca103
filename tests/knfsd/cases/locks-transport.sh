# A lock manager that rpcbind knows over UDP alone serves a mount over TCP, too.
[ "$VERSION" = 3 ] || { echo "version $VERSION has locks of its own"; exit 77; }
in_guest 'for version in 1 3 4; do rpcinfo -T tcp -d 100021 $version; done; rpcinfo -p | grep nlockmgr'
trap 'umount "$MNT"; in_guest "$RESTART"' EXIT
"$WHARF" mount "$URL" "$MNT" -o vers=3
cp "$CHECKS/ask.py" "$MNT/"
(cd "$MNT" && PYTHONPATH=$CHECKS PLACES=$DIR timeout 60 python3 -) <<'P'
import os

from server import PLACES, ask, lock, unlock

own = os.open("file", os.O_CREAT | os.O_RDWR)
lock(own, 10, 20)
assert ask(PLACES[0], "now", 15, 1) == "EAGAIN"
unlock(own)
assert ask(PLACES[0], "now", 15, 1) == "granted"
P
