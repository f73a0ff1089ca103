# What somebody else writes to or cuts lends nobody its owner's rights any more; what its owner, root, writes keeps them.
command -v setpriv >/dev/null || { echo "there is no setpriv"; exit 77; }
chmod 777 .
bits() { sleep 0.1; stat -c %a "$1"; }
for name in write append cut truncate own; do
  echo x >$name
  chmod 6777 $name
  test "$(bits $name)" = 6777
done
cat >/tmp/other.sh <<'O'
dd if=/dev/zero of=write bs=100 count=1 conv=notrunc status=none
echo x >>append
: >cut
truncate -s 5000 truncate
O
setpriv --reuid 65534 --regid 65534 --clear-groups sh -eu /tmp/other.sh
echo x >>own
for name in write append cut truncate; do test "$(bits $name)" = 777 || { ls -l; exit 1; }; done
test "$(bits own)" = 6777
