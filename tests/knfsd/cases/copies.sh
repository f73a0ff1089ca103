# A file with holes is copied by the client and, in version 4.2, by the server, and stays sparse where the version tells of holes.
truncate -s 64M sparse
echo middle | dd of=sparse bs=1 seek=30000000 conv=notrunc status=none
"$WHARF" cp $FLAGS sparse "$URL/sparse"
"$WHARF" cp $FLAGS "$URL/sparse" back
cmp sparse back
"$WHARF" cp $FLAGS --nfsstat=operations "$URL/sparse" "$URL/copy" 2>counts
in_guest 'cmp sparse copy'
[ "$VERSION" = 4.2 ] || exit 0
cat counts
[ "$(in_guest 'stat -c %b copy')" -lt 1000 ]
[ "$(stat -c %b back)" -lt 1000 ]
awk '$1 == "COPY" && $2 > 0 && $3 == 0 { found = 1 } $1 == "READ" { read = 1 } END { exit !found || read }' counts
