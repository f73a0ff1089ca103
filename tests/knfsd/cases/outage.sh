# A network that is cut for longer than a lease, while a process beside the server writes what was delegated and takes what was locked: the
# mount sees the file as it is by then, and its lock is lost, which whoever had it is told by an error until it is given up.
case $VERSION in
  3)
    echo "this version has no leases"
    exit 77
    ;;
  4.0) options=vers=4.0,callbackport=0 ;;
  *) options=vers=$VERSION ;;
esac
in_guest 'echo first >shared; chmod 666 shared; echo first >other; echo 0123456789 >locked; chmod 666 locked'
"$WHARF" mount "$URL" "$MNT" -o "$options"
exec 3<"$MNT/shared"
for again in 1 2 3; do [ "$(cat "$MNT/shared" "$MNT/other")" = "$(printf 'first\nfirst')" ]; done
coproc python3 -c '
import errno, fcntl, os, sys
locked = os.open(sys.argv[1], os.O_RDWR)
fcntl.lockf(locked, fcntl.LOCK_EX, 5)
print("locked", flush=True)
sys.stdin.readline()
try:
    os.pwrite(locked, b"mine", 0)
    print("written", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
fcntl.lockf(locked, fcntl.LOCK_UN)
os.pwrite(locked, b"after", 5)
os.close(locked)
print("unlocked", flush=True)
' "$MNT/locked"
read -r answer <&"${COPROC[0]}"
[ "$answer" = locked ]

# A lease is 10 seconds. The address stays with the device that is down.
in_guest 'dev=$(ip -o -4 addr show scope global | awk "{ print \$2; exit }")
ip link set "$dev" down
sleep 15
echo other >shared
timeout 30 python3 -c "import fcntl
file = open(\"locked\", \"r+\")
fcntl.lockf(file, fcntl.LOCK_EX, 5)
file.write(\"yours\")"
result=$?
ip link set "$dev" up
exit $result' || { echo "nobody beside the server got the lock of a client that is cut off: $(cat "$SHARE/answer.out")"; exit 1; }

[ "$(timeout 60 cat "$MNT/shared")" = other ] || { echo "what was written meanwhile is not seen"; exit 1; }
[ "$(timeout 60 cat <&3)" = other ] || { echo "the open file does not see what was written meanwhile"; exit 1; }
exec 3<&-
[ "$(timeout 60 cat "$MNT/other")" = first ]
echo >&"${COPROC[1]}"
read -r -t 60 answer <&"${COPROC[0]}"
[ "$answer" = EIO ] || { echo "the lost lock is not told: $answer"; exit 1; }
read -r -t 60 answer <&"${COPROC[0]}"
[ "$answer" = unlocked ]
wait "$COPROC_PID" || true
[ "$(in_guest 'cat locked')" = yoursafter ] || { echo "written under a lost lock: $(in_guest 'cat locked')"; exit 1; }
# All is as ever.
echo again >"$MNT/shared"
[ "$(in_guest 'cat shared')" = again ]
umount "$MNT"
