# A lock of the mount keeps a process beside the server away, for as long as it is held: over several leases in which only
# attributes are asked for, and over a restart of the server.
"$WHARF" mount "$URL" "$MNT" -o "vers=$VERSION,actimeo=0"
# Whether a process beside the server gets the lock.
is_free() {
  in_guest "python3 -c 'import fcntl; fcntl.lockf(open(\"file\", \"r+\"), fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>&1" >answer
}
held() { if is_free; then echo "the lock is free $1"; exit 1; fi; }

echo first >"$MNT/file"
coproc python3 -c '
import fcntl, sys
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.readline()
file.write("later")
file.flush()
fcntl.lockf(file, fcntl.LOCK_UN)
print("unlocked", flush=True)
sys.stdin.readline()
' "$MNT/file"
read -r answer <&"${COPROC[0]}"
held "although it is locked"
if [ "$VERSION" != 3 ]; then
  # A lease is 10 seconds.
  for second in $(seq 26); do stat "$MNT/file" >/dev/null; sleep 1; done
  held "after three leases"
fi
in_guest "$RESTART" || { echo "the server does not start again"; exit 1; }
if [ "$VERSION" != 3 ]; then
  until [ "$(in_guest 'cat /proc/fs/nfsd/v4_end_grace')" = Y ]; do sleep 1; done
  held "after a restart"
fi
echo >&"${COPROC[1]}"
read -r answer <&"${COPROC[0]}"
[ "$answer" = unlocked ]
is_free || { echo "it is not unlocked: $(cat answer)"; exit 1; }
echo >&"${COPROC[1]}"
wait "$COPROC_PID" || true
umount "$MNT"
[ "$(in_guest 'cat file')" = later ]
