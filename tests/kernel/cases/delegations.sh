# A file in memory is delegated to the client of NFSv4, which opens it again without a word, and is called back when a client of
# NFSv3 changes it.
case $VERSION in
  2 | 3)
    echo "delegations belong to NFSv4"
    exit 77
    ;;
esac
if [ "$KNFSD" = 1 ]; then
  echo "the guest's own server delegates as it likes"
  exit 77
fi
mkdir -p /delegated /other
mount -t nfs -o "vers=$VERSION,proto=tcp,port=2049" "$SERVER:/memory" /delegated
mount -t nfs -o "vers=3,nolock,proto=tcp,port=2049,mountport=2049,noac" "$SERVER:/memory" /other
finish() {
  cd /
  umount /delegated
  umount /other
}
trap finish EXIT

# How many calls of a procedure a mount has made. An OPEN by handle has a count of its own, OPEN_NOATTR.
calls() {
  awk -v mount="$1" -v procedure="^$2(_NOATTR)?:$" '
    $1 == "device" { found = ($5 == mount) }
    found && $1 ~ procedure { count += $2 }
    END { print count }' /proc/self/mountstats
}

echo first >/delegated/file
[ "$(cat /delegated/file)" = first ]
before=$(calls /delegated OPEN)
for again in 1 2 3 4 5 6 7 8 9 10; do
  [ "$(cat /delegated/file)" = first ]
done
[ "$(calls /delegated OPEN)" = "$before" ] || { echo "the client opens the file again, so it has no delegation"; exit 1; }

returned=$(calls /delegated DELEGRETURN)
echo second >/other/file
[ "$(calls /delegated DELEGRETURN)" = "$((returned + 1))" ] || { echo "the delegation was not returned"; exit 1; }
[ "$(cat /delegated/file)" = second ]

# A change of names takes it back too.
echo third >/delegated/named
[ "$(cat /delegated/named)" = third ]
returned=$(calls /delegated DELEGRETURN)
mv /other/named /other/moved
[ "$(calls /delegated DELEGRETURN)" = "$((returned + 1))" ] || { echo "it was not returned before the name changed"; exit 1; }
[ "$(cat /delegated/moved)" = third ]

echo "returned before a client of NFSv3 changed the file, and before it was renamed"
