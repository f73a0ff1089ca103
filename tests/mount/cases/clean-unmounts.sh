# After an unmount the server's next start waits for no client, however long its grace period; for a mount that was killed it does.
. "$NOT"
. "$OWN_SERVER"
[ "$VERSION" != 3 ] || { echo "version 3 has no opens that a server would wait for"; exit 77; }
mkdir /tmp/export
OWN_STATE=$(mktemp -d)
waits='after the restart, new opens and locks wait'

# Kills the server and starts it again, as after a crash of it. Its grace period is longer than this case may take.
restart() {
  [ -z "$own_server" ] || { kill -9 "$own_server"; wait "$own_server"; } 2>/dev/null || true
  serve_own /tmp/export --no-root-squash --lease 10s --grace 1h
}

# Mounts, and holds a file open for writing as descriptor 3.
open_file() {
  mount_own /tmp/export
  exec 3>/tmp/mnt/file
  echo "$VERSION" >&3
}

await() {
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { cat /tmp/server.log; exit 1; }
    sleep 0.1
  done
}
is_mount_gone() { ! is_mount_served; }

restart
for VERSION in 4.0 4.1 4.2; do
  open_file
  exec 3>&-
  umount /tmp/mnt
  await is_mount_gone
  restart
  # An open, which would wait.
  open_file
  exec 3>&-
  not grep -q "$waits" /tmp/server.log
  umount /tmp/mnt
  await is_mount_gone
done

open_file
pid=$(grep -ls "127.0.0.1:$OWN_PORT/" /proc/[0-9]*/cmdline | head -n 1)
pid=${pid#/proc/}
kill -9 "${pid%/cmdline}"
exec 3>&- || true
umount -l /tmp/mnt
restart
await grep -q "$waits" /tmp/server.log
echo "three versions were unmounted, and one mount was killed"
