# Access lists: set on the client and seen on the server's machine, judged, inherited, and bounded by the mode.
case $VERSION in
  4*) ;;
  *)
    echo "acls-posix.sh tries the lists of NFSv3"
    exit 77
    ;;
esac
command -v nfs4_setfacl >/dev/null || {
  echo "the guest has no nfs4-acl-tools"
  exit 77
}

as() { # UID COMMAND...: runs a command as a user without groups
  uid=$1
  shift
  python3 -c '
import os, subprocess, sys
def become():
    os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
sys.exit(subprocess.run(sys.argv[2:], preexec_fn=become, stderr=subprocess.DEVNULL).returncode)' "$uid" "$@"
}

refused() { # COMMAND...: a command that must fail; a "!" would not end the script
  if "$@" 2>/dev/null; then
    echo "this succeeded: $*"
    exit 1
  fi
}

tells() { nfs4_getfacl "$2" | grep -q "$1"; } # PATTERN FILE

umask 022
echo secret >file
chmod 600 file
nfs4_getfacl file >before
grep -q '^A::OWNER@:' before
grep -q '^A::EVERYONE@:' before

# One user may read, and others may not.
nfs4_setfacl -a A::1000:r file
nfs4_getfacl file | grep -q '^A::1000:r'
[ "$(as 1000 cat file)" = secret ]
refused as 1001 cat file
refused as 1000 sh -c 'echo more >>file'

# What is told can be set again.
nfs4_getfacl file | grep -v '^#' >told
nfs4_setfacl -S told file
nfs4_getfacl file | grep -v '^#' | cmp told -

# The mode bounds the list, and an entry that is taken away is gone.
chmod 600 file
refused as 1000 cat file
nfs4_setfacl -s 'A::OWNER@:rwa,A::GROUP@:,A::EVERYONE@:' file
refused tells ':1000:' file

# A directory hands its list down to files and directories, and then no umask counts. Before version 4.2 the client has taken
# it off already (RFC 8275).
mkdir dir
nfs4_setfacl -a A:fd:1000:rwaDx dir
[ "$VERSION" = 4.2 ] || umask 0
as 1000 sh -c 'echo mine >dir/file'
mkdir dir/below
nfs4_getfacl dir/below | grep -q '^A:fdi:1000:'
nfs4_getfacl dir/file | grep -q 'OWNER@'
as 1000 sh -c 'echo deep >dir/below/file'
[ "$(cat dir/below/file)" = deep ]

# What POSIX's lists cannot hold is refused, and nothing changes.
nfs4_getfacl file >kept
refused nfs4_setfacl -a U:S:1000:r file
refused nfs4_setfacl -a D::1000:t file
refused nfs4_setfacl -a A:f:1000:r dir
nfs4_getfacl file | cmp kept -

# A process on the server's machine sees the same list, and the client what that sets.
if [ "$KNFSD" = 0 ] && [ -n "${SHARE:-}" ]; then
  cat >/tmp/local.py <<'END'
import os, struct
path = "acls/file"
entries = [(1, 6, 0xffffffff), (2, 4, 1001), (4, 0, 0xffffffff), (16, 4, 0xffffffff), (32, 0, 0xffffffff)]
os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
END
  echo "python3 - <<'END'
$(cat /tmp/local.py)
END" >"$SHARE/local.new"
  mv "$SHARE/local.new" "$SHARE/local"
  while [ -e "$SHARE/local" ]; do sleep 0.1; done
  cat "$SHARE/local.out"
  sleep 4
  [ "$(as 1001 cat file)" = secret ]
  nfs4_getfacl file | grep -q '^A::1001:r'
fi
