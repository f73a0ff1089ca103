# rsync puts a tree on the mount, with links, times, modes and owners, changes it there, and finds nothing to do a second time.
command -v rsync >/dev/null || { echo "there is no rsync"; exit 77; }
mkdir -p /tmp/tree/a/b /tmp/tree/c
for number in $(seq 40); do seq $((number * 50)) >"/tmp/tree/a/file-$number"; done
ln /tmp/tree/a/file-1 /tmp/tree/c/same
ln -s ../a/file-2 /tmp/tree/c/link
chmod 4751 /tmp/tree/a/file-3
chown 1234:2345 /tmp/tree/a/file-4
touch -d '2001-02-03 04:05:06.789' /tmp/tree/a/file-5
rsync -aH --numeric-ids /tmp/tree/ copy/
diff -r /tmp/tree copy
test "$(stat -c '%a %u %g %Y %h' copy/a/file-3)" = "$(stat -c '%a %u %g %Y %h' /tmp/tree/a/file-3)"
test "$(stat -c '%u %g' copy/a/file-4)" = '1234 2345'
test "$(stat -c %y copy/a/file-5)" = "$(stat -c %y /tmp/tree/a/file-5)"
test "$(stat -c %h copy/c/same)" = 2
rm /tmp/tree/a/file-6
echo changed >>/tmp/tree/a/file-7
rsync -aH --numeric-ids --delete --inplace --checksum /tmp/tree/ copy/
diff -r /tmp/tree copy
test -z "$(rsync -aHi --numeric-ids --delete /tmp/tree/ copy/)"
rsync -aH --numeric-ids copy/ /tmp/back/
diff -r /tmp/tree /tmp/back
