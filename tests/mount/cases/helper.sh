# mount(8) finds the program under the name of a helper, and so do lines of fstab; unmounting leaves no process.
ln -s "$WHARF_PROGRAM" /tmp/mount.wharf
options="vers=$VERSION,mountport=$PORT,_netdev,x-test"
/tmp/mount.wharf "$SOURCE" "$OTHER" -fs -o "$options,colour"
! mountpoint -q "$OTHER"
/tmp/mount.wharf "$SOURCE" "$OTHER" -n -t fuse.wharf -o "$options"
test "$(findmnt -no FSTYPE "$OTHER")" = fuse.wharf
# A second mount of the same would hide the first.
! "$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "$options" 2>/tmp/said
grep -q 'is mounted on .* already' /tmp/said
umount "$OTHER"

# The folder in which mount(8) looks, with one name more.
mkdir /tmp/sbin
mv /tmp/mount.wharf /tmp/sbin
mount -t overlay none -o lowerdir=/tmp/sbin:/usr/sbin /usr/sbin 2>/dev/null || { echo "there is no overlay: mount(8) itself was not tried"; exit 0; }
echo "127.0.0.1:${SOURCE#nfs://*/} $OTHER wharf port=$PORT,$options,noexec 0 0" | sed 's,:\([^/]\),:/\1,' >/tmp/fstab
cat /tmp/fstab
mount -aT /tmp/fstab
findmnt -no OPTIONS "$OTHER" | grep -q noexec
mount -aT /tmp/fstab
test "$(findmnt -rno TARGET | grep -c "^$OTHER\$")" = 1
umount "$OTHER"
mount -t wharf "127.0.0.1:/${SOURCE#nfs://*/}" "$OTHER" -o "port=$PORT,$options"
mountpoint -q "$OTHER"
umount "$OTHER"
