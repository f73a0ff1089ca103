# For cases that need a server of their own, with other exports or other options than the one that all cases share. What they serve and mount
# lies in the case's own /tmp, and goes with the case: first the mount, then the server, which the mount needs to come to its end.

OWN_PORT=$((PORT + 1))
own_server=

# serve_own ARGUMENT...: starts `wharf serve` with these; the one that was there before has ended. It knows no clients of an earlier one, for
# whom it would keep others waiting, unless OWN_STATE names the state directory of both.
serve_own() {
  mkdir -p /tmp/mnt
  "$WHARF_PROGRAM" serve "$@" --listen "127.0.0.1:$OWN_PORT" --state-dir "${OWN_STATE:-$(mktemp -d)}" >/tmp/server.log 2>&1 &
  own_server=$!
}

# mount_own EXPORT: mounts this of it on /tmp/mnt, once it answers.
mount_own() {
  tries=0
  until "$WHARF_PROGRAM" mount "nfs://127.0.0.1:$OWN_PORT$1" /tmp/mnt -o "vers=$VERSION,mountport=$OWN_PORT,retry=0" 2>/tmp/mount.log; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { cat /tmp/mount.log /tmp/server.log; exit 1; }
    sleep 0.1
  done
}

# Whether a process still serves what was mounted here.
is_mount_served() { grep -qs "127.0.0.1:$OWN_PORT/" /proc/[0-9]*/cmdline; }

# end_own: takes the mount away and waits for its process, then ends the server.
end_own() {
  cd /
  timeout 10 umount /tmp/mnt 2>/dev/null || umount -l /tmp/mnt 2>/dev/null || true
  tries=0
  while is_mount_served && [ "$tries" -lt 100 ]; do tries=$((tries + 1)); sleep 0.1; done
  [ -z "$own_server" ] || { kill "$own_server"; wait "$own_server"; } 2>/dev/null || true
  own_server=
}
trap end_own EXIT
