# With bg a mount whose server is away, or whose directory is not there yet, is left to a process that goes on trying; the system's log is told.
. "$NOT"
restart() { touch "$WORK/start"; while [ -e "$WORK/start" ]; do sleep 0.1; done; }
wait_for() { for _ in $(seq 300); do "$@" && return; sleep 0.1; done; return 1; }
# A system's log of our own, in a /dev of our own.
mkdir /tmp/dev
mount -t tmpfs none /tmp/dev
for device in fuse null urandom; do cp -a "/dev/$device" "/tmp/dev/$device"; done
python3 - <<'L' &
import socket
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind("/tmp/dev/log")
with open("/tmp/syslog", "wb", buffering=0) as file:
    while True:
        file.write(log.recv(65536) + b"\n")
L
logger=$!
trap 'kill $logger' EXIT
wait_for test -S /tmp/dev/log
mount --bind /tmp/dev /dev
options="vers=$VERSION,mountport=$PORT,bg"

"$WHARF_PROGRAM" mount "$SOURCE" /tmp/later -o "$options"
sleep 1
mkdir /tmp/later
wait_for mountpoint -q /tmp/later
umount /tmp/later

touch "$WORK/kill"
while [ -e "$WORK/kill" ]; do sleep 0.1; done
status=0
"$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "vers=$VERSION,mountport=$PORT" 2>/tmp/said || status=$?
test $status = 1
"$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "$options"
not mountpoint -q "$OTHER"
restart
wait_for mountpoint -q "$OTHER"
umount "$OTHER"

# Whoever waits with retry waits until it is there.
touch "$WORK/kill"
while [ -e "$WORK/kill" ]; do sleep 0.1; done
"$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "vers=$VERSION,mountport=$PORT,retry=1" &
sleep 1
restart
wait $!
mountpoint -q "$OTHER"
umount "$OTHER"

# What the server refuses it would refuse again.
not "$WHARF_PROGRAM" mount "${SOURCE%/export}/none" "$OTHER" -o "$options" 2>/tmp/refused
cat /tmp/said /tmp/refused /tmp/syslog
grep -q 'mounted .* on /tmp/later with NFSv' /tmp/syslog
grep -q 'trying again' /tmp/syslog
