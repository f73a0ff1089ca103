# A file that is read is delegated to the mount, which opens it again without a word, and is called back when a process beside the
# server writes it.
case $VERSION in
  3 | 4.0)
    echo "this client holds delegations from 4.1 on"
    exit 77
    ;;
esac
"$WHARF" mount "$URL" "$MNT" -o "vers=$VERSION"

# How many calls of a procedure the mount has made.
calls() { "$WHARF" nfsstat --operations "$MNT" | awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }'; }

in_guest 'echo first >file'
[ "$(cat "$MNT/file")" = first ]
before=$(calls OPEN)
for again in 1 2 3; do [ "$(cat "$MNT/file")" = first ]; done
[ "$(calls OPEN)" = "$before" ] || { echo "it is opened again: $before, $(calls OPEN)"; exit 1; }

returned=$(calls DELEGRETURN)
in_guest 'echo second >file'
[ "$(calls DELEGRETURN)" = "$((returned + 1))" ] || { echo "the delegation was not returned"; exit 1; }
[ "$(cat "$MNT/file")" = second ]

# A file that stays open is opened at the server before its delegation goes.
in_guest 'echo third >other'
exec 3<"$MNT/other"
in_guest 'echo fourth >other'
[ "$(cat <&3)" = fourth ]
exec 3<&-
umount "$MNT"
