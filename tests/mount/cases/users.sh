# Root mounts what takes root for nobody: there each user is himself, with his groups.
. "$NOT"
. "$OWN_SERVER"
command -v setpriv >/dev/null || { echo "there is no setpriv"; exit 77; }
mkdir -m 1777 /tmp/export
serve_own /tmp/export
mount_own /tmp/export
cd /tmp/mnt

# User 1000 is in group 50, as user 1002 is, and 1001 is not.
as() { id=$1 groups=$2; shift 2; setpriv --reuid "$id" --regid "$id" --groups "$groups" "$@"; }
as 1000 50 sh -euc 'umask 022; mkdir hers; echo hers >hers/file; chmod 600 hers/file; chmod 700 hers'
test "$(stat -c %u:%g hers)" = 1000:1000
test "$(as 1000 50 stat -c %u:%g hers/file)" = 1000:1000
test "$(as 1000 50 cat hers/file)" = hers
not as 1001 1001 cat hers/file 2>/tmp/refused
grep -q "Permission denied" /tmp/refused
not as 1001 1001 mkdir hers/his
not cat hers/file
not touch hers/roots

as 1000 50 sh -euc 'chgrp 50 hers hers/file; chmod 770 hers; chmod 660 hers/file'
as 1002 50 sh -euc 'test "$(cat hers/file)" = hers; echo more >>hers/file; mkdir hers/theirs'
test "$(as 1000 50 cat hers/file | tr "\n" " ")" = "hers more "
test "$(as 1000 50 stat -c %u hers/theirs)" = 1002
not as 1001 1001 cat hers/file

as 1001 1001 sh -euc 'mkdir his; echo his >his/file; mv his/file his/name; ln -s name his/link; cat his/link' >/dev/null
mkdir roots
test "$(stat -c %u his roots | tr "\n" " ")" = "1001 65534 "
as 1001 1001 rm -r his
