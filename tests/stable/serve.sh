#!/bin/sh
# Serves a new ext4 on a loop device, with one way to make changes stable: a server of tests/stable/*.toml, which need
# root, since what it mounts is in a namespace of its own. The lab sets EXPORT, STATE, PORT, MOUNT_PORT and WHARF.
#
#   serve.sh neither|group|log|fast-log|ganesha
#
# A new file system for each start: ext4 looks for free inodes past those that were removed in the last minute.
set -eu
[ $# -ge 1 ] || { echo "usage: $0 neither|group|log|fast-log|ganesha" >&2; exit 2; }
if [ -z "${WHARF_SPEED_INSIDE:-}" ]; then
    WHARF_SPEED_INSIDE=1 exec unshare --mount sh "$0" "$@"
fi
disk=${DISK:-/var/tmp}
image=$(mktemp "$disk/wharf-speed.XXXXXX")
truncate -s 4G "$image"
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$image"
mount -o loop "$image" "$EXPORT"
# The loop device keeps it until the server ends.
rm "$image"

serve() {
    exec "$WHARF" serve "$EXPORT" --listen "127.0.0.1:$PORT" --state-dir "$STATE/state" --no-root-squash "$@"
}

# $1 is where the log is made anew; further arguments are the server's.
serve_with_log() {
    rm -f "$1"
    serve --group-commit off --write-log "$@"
}

case $1 in
neither) serve --group-commit off ;;
group) serve ;;
log) serve_with_log "$disk/wharf-speed.log" ;;
fast-log) serve_with_log /dev/shm/wharf-speed.log --lose-my-data ;;
ganesha)
    cat >"$STATE/ganesha.conf" <<CONFIG
NFS_CORE_PARAM { Bind_addr = 127.0.0.1; NFS_Port = $PORT; MNT_Port = $MOUNT_PORT; Protocols = 3, 4;
    Enable_NLM = false; Enable_RQUOTA = false; }
NFSV4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = $STATE; }
EXPORT { Export_Id = 1; Path = $EXPORT; Pseudo = $EXPORT; Protocols = 3, 4; Transports = TCP, UDP; Access_Type = RW;
    Squash = No_Root_Squash; SecType = sys; FSAL { Name = VFS; } }
CONFIG
    exec ganesha.nfsd -F -L /dev/stderr -N NIV_WARN -p "$STATE/pid" -f "$STATE/ganesha.conf"
    ;;
*) echo "$0: $1 is none of neither, group, log, fast-log, ganesha" >&2; exit 2 ;;
esac
