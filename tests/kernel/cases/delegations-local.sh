# A file of the directory is delegated under a lease: it is opened again without a word, and recalled when a local process on the
# server writes to it, which waits for the return, or changes its mode. The client itself may write to it, too.
case $VERSION in
  2 | 3)
    echo "delegations belong to NFSv4"
    exit 77
    ;;
esac
if [ "$KNFSD" = 1 ] || [ "$DELEGATIONS" != auto ]; then
  echo "the server takes no leases"
  exit 77
fi
dir=${PWD#"$MNT"/}

calls() {
  awk -v mount="$MNT" -v procedure="^$1(_NOATTR)?:$" '
    $1 == "device" { found = ($5 == mount) }
    found && $1 ~ procedure { count += $2 }
    END { print count }' /proc/self/mountstats
}

# Runs a shell line on the server, in this directory.
on_server() {
  echo "cd '$dir' && $1" >/share/local.new
  mv /share/local.new /share/local
  while [ -e /share/local ]; do sleep 0.05; done
}

# Waits until a condition holds.
soon() {
  for attempt in $(seq 100); do
    eval "$1" && return
    sleep 0.1
  done
  echo "in vain: $1"
  exit 1
}

# NFSv4.0 delegates nothing with the first open of an owner.
delegated() {
  echo "$2" >"$1"
  [ "$(cat "$1" "$1" | head -n 1)" = "$2" ]
  before=$(calls OPEN)
  for again in 1 2 3 4 5; do cat "$1" >/dev/null; done
  [ "$(calls OPEN)" = "$before" ] || { echo "the client opens $1 again, so it has no delegation"; exit 1; }
  returned=$(calls DELEGRETURN)
}

delegated file before
on_server "echo after >file"
[ "$(calls DELEGRETURN)" = "$((returned + 1))" ] || { echo "it was not returned before the local process wrote"; exit 1; }
[ "$(cat file)" = after ]

delegated cut before
on_server "python3 -c 'import os; os.truncate(\"cut\", 3)'"
[ "$(calls DELEGRETURN)" = "$((returned + 1))" ] || { echo "it was not returned before the local process truncated"; exit 1; }
[ "$(cat cut)" = bef ]

delegated mode before
on_server "chmod 600 mode"
soon '[ "$(calls DELEGRETURN)" = "$((returned + 1))" ]'
# Then the client believes the attributes that it has for its usual time.
soon '[ "$(stat -c %a mode)" = 600 ]'

delegated own before
echo more >>own
[ "$(cat own)" = "before
more" ]
echo "returned before a local process wrote and truncated, after it changed a mode, and before the client wrote itself"
