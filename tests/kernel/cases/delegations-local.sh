# A file of the directory is delegated under a lease: it is opened again without a word, and recalled when a local process on the
# server writes to it, which waits for the return, or makes any other change. A client with a delegation sees a change no later
# than one without. The client itself may write to it, too.
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

# What the client sees of a file, in each of these ways.
sees() {
  case $1 in
    mode) stat -c %a "$2" ;;
    time) stat -c %Y "$2" ;;
    links) stat -c %h "$2" ;;
    name) [ ! -e "$2" ] || echo there ;;
    content) cat "$2" ;;
    attribute) getfattr --only-values -n user.of "$2" 2>/dev/null || echo none ;;
  esac
}

# Makes a change of a delegated file and of one that is not, since it has been recalled just now, and compares when it is seen.
# After the recall the client uses the attributes that came with its return for its usual time, 3 s (acregmin). On a slow machine
# the file that is not delegated may be delegated again by a look at its content, so that two return.
changed() {
  kind=$1 new=$3
  delegated "$kind-plain" before
  on_server "echo before >$kind-plain"
  soon '[ "$(calls DELEGRETURN)" -gt "$returned" ]'
  delegated "$kind" before
  sees "$kind" "$kind-plain" >/dev/null
  on_server "for name in $kind $kind-plain; do $2; done"
  soon '[ "$(calls DELEGRETURN)" -gt "$returned" ]'
  first="$first $kind:$([ "$(sees "$kind" "$kind")" = "$new" ] && echo fresh || echo stale)"
  first="$first/$([ "$(sees "$kind" "$kind-plain")" = "$new" ] && echo fresh || echo stale)"
  soon '[ "$(sees "$kind" "$kind")" = "$new" ]'
}
first=
changed mode 'chmod 600 $name' 600
changed time 'touch -d @1000000000 $name' 1000000000
changed links 'ln $name $name-link' 2
changed name 'rm $name' ""
changed content 'echo after >$name-new && mv $name-new $name' after
# It is opened by its name, which is another file's.
case $first in *content:fresh/fresh*) ;; *) echo "a replaced file was read:$first"; exit 1 ;; esac
if [ "$VERSION" = 4.2 ]; then
  changed attribute "python3 -c 'import os, sys; os.setxattr(sys.argv[1], \"user.of\", b\"after\")' \$name" after
fi

delegated own before
echo more >>own
[ "$(cat own)" = "before
more" ]
echo "at the first look with a delegation/without:$first"
