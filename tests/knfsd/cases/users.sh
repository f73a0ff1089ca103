# Users of root's mount are themselves at the server, with their groups; what the server refuses one of them, memory does not show either.
. "$NOT"
command -v setpriv >/dev/null || { echo "there is no setpriv"; exit 77; }
"$WHARF" mount "$URL" "$MNT" -o "vers=$VERSION"
cd "$MNT"
trap 'cd /; umount "$MNT"' EXIT
chmod 1777 .
as() { id=$1 groups=$2; shift 2; setpriv --reuid "$id" --regid "$id" --groups "$groups" "$@"; }
as 1000 50 sh -euc 'umask 022; mkdir hers; echo hers >hers/file; chmod 600 hers/file; chmod 700 hers'
test "$(stat -c %u:%g hers hers/file | tr '\n' ' ')" = "1000:1000 1000:1000 "
test "$(in_guest 'stat -c %u:%g hers hers/file' | tr '\n' ' ')" = "1000:1000 1000:1000 "
test "$(as 1000 50 cat hers/file)" = hers
not as 1001 1001 cat hers/file
not as 1001 1001 mkdir hers/his
# A server may know users' groups by itself and not want to hear of them (`manage-gids` of the kernel's).
knows_groups=
if as 1000 50 chgrp 50 hers hers/file 2>/dev/null; then
  as 1000 50 sh -euc 'chmod 770 hers; chmod 660 hers/file'
  as 1002 50 sh -euc 'test "$(cat hers/file)" = hers; echo more >>hers/file; mkdir hers/theirs'
  test "$(as 1000 50 cat hers/file | tr '\n' ' ')" = "hers more "
  test "$(in_guest 'stat -c %u hers/theirs')" = 1002
  not as 1001 1001 cat hers/file
else
  knows_groups="without groups: the server knows its own"
fi

# Both have it open for writing at once: each byte is written as who wrote it.
as 1000 50 sh -euc 'umask 0; echo >both'
as 1000 50 sh -euc 'exec 5>>both; echo one >&5; sleep 1; echo two >&5' &
writer=$!
as 1002 50 sh -euc 'exec 5>>both; sleep 0.5; echo other >&5'
wait "$writer"
test "$(in_guest 'sort both' | tr '\n' ' ' | tr -s ' ')" = " one other two "
as 1001 1001 sh -euc 'echo his >his; mv his mine; ln -s mine link; cat link' >/dev/null
not as 1002 50 rm -f mine
as 1001 1001 rm mine link
echo "$knows_groups"
