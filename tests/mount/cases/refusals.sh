# What cannot be mounted is told with what is in the way, and nothing is left of it.
. "$NOT"
refused() {
  expected=$1
  shift
  status=0
  timeout 60 "$WHARF_PROGRAM" mount "$@" >/tmp/said 2>&1 || status=$?
  cat /tmp/said
  test $status != 0
  grep -q "$expected" /tmp/said
}
options="vers=$VERSION,port=$PORT,mountport=$PORT"
: >file
mkdir -p /tmp/here
refused '/tmp/none: No such file or directory' "$SOURCE" /tmp/none -o "$options"
refused 'is not a directory' "$SOURCE" "$PWD/file" -o "$options"
refused 'none: no such file or directory\|none: the server has no such export\|none: .*denied' "nfs://127.0.0.1:$PORT/none" /tmp/here -o "$options"
refused 'is not a directory; only directories can be mounted' "$SOURCE/$(basename "$PWD")/file" /tmp/here -o "$options"
refused '127.0.0.1' nfs://127.0.0.1:1/x /tmp/here -o "vers=$VERSION,port=1,mountport=1"
refused 'no.host.invalid' nfs://no.host.invalid/x /tmp/here -o "vers=$VERSION"
refused "unknown option 'colour'" "$SOURCE" /tmp/here -o colour
refused 'Wharf does not support Kerberos' "$SOURCE" /tmp/here -o sec=krb5
not mountpoint -q /tmp/here
