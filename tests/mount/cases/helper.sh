# mount(8) finds the program under the name of a helper, and so do lines of fstab; unmounting leaves no process.
. "$NOT"
cp "$WHARF_PROGRAM" /tmp/wharf
ln -s /tmp/wharf /tmp/mount.wharf
options="vers=$VERSION,mountport=$PORT,_netdev,x-test"
/tmp/mount.wharf "$SOURCE" "$OTHER" -fs -o "$options,colour"
not mountpoint -q "$OTHER"
/tmp/mount.wharf "$SOURCE" "$OTHER" -n -t fuse.wharf -o "$options"
test "$(findmnt -no FSTYPE "$OTHER")" = fuse.wharf
# A second mount of the same would hide the first.
not "$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "$options" 2>/tmp/said
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

# Of a line with `noauto` nothing comes by itself.
line="127.0.0.1:/${SOURCE#nfs://*/} $OTHER wharf port=$PORT,$options"
echo "$line,noauto 0 0" >/tmp/fstab
mount -aT /tmp/fstab
not mountpoint -q "$OTHER"
mount -T /tmp/fstab "$OTHER"
mountpoint -q "$OTHER"
umount "$OTHER"

# A line with `user` is for ordinary users, who unmount what they have mounted.
command -v fusermount3 >/dev/null || { echo "there is no fusermount3: no ordinary user tried a line of fstab"; exit 0; }
command -v setpriv >/dev/null || { echo "there is no setpriv: no ordinary user tried a line of fstab"; exit 0; }
[ -e /etc/fstab ] || { echo "there is no /etc/fstab: no ordinary user tried a line of it"; exit 0; }
mknod /tmp/fuse c 10 229
chmod 666 /tmp/fuse
mount --bind /tmp/fuse /dev/fuse
mkdir /tmp/mnt
chown 65534:65534 /tmp/mnt
for option in user users; do
  echo "$line,noauto,$option 0 0" | sed "s,$OTHER,/tmp/mnt," >/tmp/fstab-users
  mount --bind /tmp/fstab-users /etc/fstab
  setpriv --reuid 65534 --regid 65534 --clear-groups mount /tmp/mnt
  findmnt -no OPTIONS /tmp/mnt | grep -q nosuid,nodev,noexec
  setpriv --reuid 65534 --regid 65534 --clear-groups umount /tmp/mnt
  not mountpoint -q /tmp/mnt
  umount /etc/fstab
done
