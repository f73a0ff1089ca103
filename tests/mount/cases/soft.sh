# On a soft mount a call to a server that is gone fails with EIO when timeo and retrans have passed, and works again when it is back.
"$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "vers=$VERSION,mountport=$PORT,soft,timeo=10,retrans=1,noac,lookupcache=none"
restart() { touch "$WORK/start"; while [ -e "$WORK/start" ]; do sleep 0.1; done; }
echo here >file
place=$OTHER/$(basename "$PWD")
cat "$place/file"
touch "$WORK/kill"
while [ -e "$WORK/kill" ]; do sleep 0.1; done
status=0
began=$(date +%s)
timeout -k 1 40 cat "$place/file" >/tmp/out 2>&1 || status=$?
took=$(($(date +%s) - began))
restart
cat /tmp/out
grep -q 'Input/output error' /tmp/out
test $status = 1
test $took -le 20
for _ in $(seq 300); do
  cat "$place/file" >/tmp/out 2>&1 && break
  sleep 0.1
done
test "$(cat /tmp/out)" = here
umount "$OTHER"
