# The server dies without warning and comes back, on a hard mount: whoever waits only waits, no byte is lost, and who is killed ends at once.
restart() { touch "$WORK/start"; while [ -e "$WORK/start" ]; do sleep 0.1; done; }
stop() { touch "$WORK/kill"; while [ -e "$WORK/kill" ]; do sleep 0.1; done; }
mkdir apart
rm -f "$WORK/tell"
mkfifo "$WORK/tell"
python3 - <<'X' &
import os
import random

chance = random.Random(3)
with open("steady", "wb", buffering=0) as file:
    for part in range(200):
        file.write(chance.randbytes(50_000))
    os.fsync(file.fileno())
for number in range(60):
    with open(f"small-{number}", "w") as file:
        file.write(f"{number}\n" * 1000)
X
writer=$!
sleep 0.5
# Its data is not at the server when that goes.
sh -c 'exec >apart/kept; read -r line; echo kept; read -r line' <"$WORK/tell" &
holder=$!
exec 8>"$WORK/tell"
sleep 0.5
stop
echo >&8
# Somebody who waits for a server that is not there, and is killed. Not in the writer's directory: the kernel lets nobody look up names, nor be
# killed who wants to, while somebody makes a file there.
cat apart/none >/dev/null 2>&1 &
waiter=$!
sleep 1
kill -TERM $waiter
for _ in $(seq 100); do kill -0 $waiter 2>/dev/null || break; sleep 0.1; done
kill -0 $waiter 2>/dev/null && { restart; echo "a process that was killed still waits"; exit 1; }
# One who has written what the server does not have yet, and is killed while the kernel closes its files.
kill -TERM $holder
for _ in $(seq 100); do kill -0 $holder 2>/dev/null || break; sleep 0.1; done
kill -0 $holder 2>/dev/null && { restart; echo "a process that was killed still waits for its data"; exit 1; }
restart
wait $writer
sync
echo 3 >/proc/sys/vm/drop_caches
[ "$(cat apart/kept)" = kept ]
python3 - <<'X'
import random

chance = random.Random(3)
data = open("steady", "rb").read()
assert data == b"".join(chance.randbytes(50_000) for _ in range(200)), len(data)
for number in range(60):
    assert open(f"small-{number}").read() == f"{number}\n" * 1000, number
X
