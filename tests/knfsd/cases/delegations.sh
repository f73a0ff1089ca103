# A file that was opened is delegated to the mount, which opens it again without a word, for reading or for writing, and is called
# back when a process beside the server uses it otherwise.
case $VERSION in
  3)
    echo "this version has no delegations"
    exit 77
    ;;
  4.0) options=vers=4.0,callbackport=0 ;;
  *) options=vers=$VERSION ;;
esac
"$WHARF" mount "$URL" "$MNT" -o "$options"

# How many calls of a procedure the mount has made.
calls() { "$WHARF" nfsstat --operations "$MNT" | awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }'; }
# Runs a line beside the server, which has to take the delegation back.
recalls() {
  returned=$(calls DELEGRETURN)
  in_guest "$1" >answer
  [ "$(calls DELEGRETURN)" = "$((returned + 1))" ] || { echo "the delegation was not returned for $1"; exit 1; }
}

# In 4.0 the server calls at a port of the mount's, and knows all opens: what is read is believed.
if [ "$VERSION" = 4.0 ]; then
  in_guest 'echo first >file'
  held() { "$WHARF" nfsstat -e "$MNT" | awk '/Delegs/ { for (i = 1; i <= NF; i++) if ($i == "Delegs") place = i; getline; print $place; exit }'; }
  # It delegates nothing before it has found out that it can call.
  for try in $(seq 100); do
    cat "$MNT/file" >/dev/null
    [ "$(held)" = 0 ] || break
    sleep 0.1
  done
  exec 4<"$MNT/file"
  [ "$(held)" = 1 ] || { echo "nothing is delegated: $(held)"; exit 1; }
  recalls 'echo second >file'
  [ "$(held)" = 0 ]
  [ "$(cat "$MNT/file")" = second ]
  exec 4<&-
  umount "$MNT"
  echo "for reading, over a connection of the server's"
  exit 0
fi

in_guest 'echo first >file'
[ "$(cat "$MNT/file")" = first ]
before=$(calls OPEN)
for again in 1 2 3; do [ "$(cat "$MNT/file")" = first ]; done
[ "$(calls OPEN)" = "$before" ] || { echo "it is opened again: $before, $(calls OPEN)"; exit 1; }
recalls 'echo second >file'
[ "$(cat "$MNT/file")" = second ]

# A file that stays open is opened at the server before its delegation goes.
in_guest 'echo third >other'
exec 3<"$MNT/other"
in_guest 'echo fourth >other'
[ "$(cat <&3)" = fourth ]
exec 3<&-

# What was changed under a delegation for writing is there before a process sees the file.
echo 1 >"$MNT/mine"
before=$(calls OPEN)
for again in 2 3 4; do echo $again >>"$MNT/mine"; done
if [ "$(calls OPEN)" != "$before" ]; then
  umount "$MNT"
  echo "for reading; this server gives none for writing"
  exit 0
fi
exec 3>>"$MNT/mine"
echo 5 >&3
recalls 'cat mine'
[ "$(tr '\n' ' ' <answer)" = "1 2 3 4 5 " ]
echo 6 >&3
exec 3>&-
[ "$(in_guest 'tail -n 1 mine')" = 6 ]

# It outlives a restart of the server with an open file.
echo 1 >"$MNT/kept"
exec 3>>"$MNT/kept"
in_guest "$RESTART"
until [ "$(in_guest 'cat /proc/fs/nfsd/v4_end_grace')" = Y ]; do sleep 1; done
echo 2 >&3
before=$(calls OPEN)
echo 3 >>"$MNT/kept"
[ "$(calls OPEN)" = "$before" ] || { echo "the delegation was not had back: $before, $(calls OPEN)"; exit 1; }
recalls 'cat kept'
[ "$(tr '\n' ' ' <answer)" = "1 2 3 " ]
exec 3>&-
umount "$MNT"
echo "for reading and writing"
