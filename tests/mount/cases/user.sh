# An ordinary user mounts with fusermount3 what root has not, uses it as himself and unmounts it.
command -v fusermount3 >/dev/null || { echo "there is no fusermount3"; exit 77; }
command -v setpriv >/dev/null || { echo "there is no setpriv"; exit 77; }
# The device is everybody's where udev made it. This is a mount namespace of our own.
mknod /tmp/fuse c 10 229
chmod 666 /tmp/fuse
mount --bind /tmp/fuse /dev/fuse
cp "$WHARF_PROGRAM" /tmp/wharf
cp "$NOT" /tmp/not.sh
mkdir /tmp/mnt
chown 65534:65534 /tmp/mnt
chmod 755 /tmp
chmod 1777 .
cat >/tmp/user.sh <<'X'
cd /tmp
. /tmp/not.sh
/tmp/wharf mount "$1" /tmp/mnt -o "vers=$VERSION,mountport=$PORT"
echo mine >/tmp/mnt/user-file
test "$(stat -c %u /tmp/mnt/user-file)" = 65534
test "$(cat /tmp/mnt/user-file)" = mine
not chown 0 /tmp/mnt/user-file
fusermount3 -u /tmp/mnt
not mountpoint -q /tmp/mnt
X
setpriv --reuid 65534 --regid 65534 --clear-groups sh -eu /tmp/user.sh "$SOURCE/$(basename "$PWD")"
test "$(stat -c %u user-file)" = 65534
