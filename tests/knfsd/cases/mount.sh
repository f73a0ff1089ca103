# What people do on a mount with three connections: cases of tests/kernel that need no guest, each in a directory of its own. The
# files are in memory, which has room for extended attributes.
"$WHARF" mount "$MEMORY_URL" "$MNT" -o "vers=$VERSION,nconnect=3"
failed= skipped=
for name in create holes kinds mmap open-files sparse xattrs; do
  mkdir "$MNT/$name"
  status=0
  (cd "$MNT/$name" && timeout 60 unshare --mount sh -c 'mount -t tmpfs none /tmp && exec sh -eu "$0"' "$KERNEL_CASES/$name.sh") ||
    status=$?
  case $status in
    0) ;;
    77) skipped="$skipped $name" ;;
    *) failed="$failed $name" ;;
  esac
done
umount "$MNT"
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
echo "${skipped:+without$skipped}"
