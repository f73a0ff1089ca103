# Access lists of NFSv3, through NFSACL: set by setfacl on the client, judged, inherited, bounded by the mode, removed.
case $VERSION in
  3*) ;;
  *)
    echo "NFSACL is beside NFSv3; acls.sh tries the lists of NFSv4"
    exit 77
    ;;
esac

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

tells() { getfacl -n "$2" 2>/dev/null | grep -q "$1"; } # PATTERN FILE

umask 022
echo secret >file
chmod 600 file
refused tells '^user:1000:' file
refused tells '^mask:' file

# One user may read, and others may not.
setfacl -m u:1000:r file
tells '^user:1000:r--' file
[ "$(stat -c %a file)" = 640 ]
[ "$(as 1000 cat file)" = secret ]
refused as 1001 cat file
refused as 1000 sh -c 'echo more >>file'
refused as 1000 setfacl -m u:1001:r file

# The mode bounds the list, and an entry that is taken away is gone.
chmod 600 file
refused as 1000 cat file
setfacl -b file
refused tells '^user:1000:' file
refused tells '^mask:' file
[ "$(stat -c %a file)" = 600 ]

# A directory hands its list down to files and directories, and then no umask counts.
mkdir dir
chmod 777 dir
setfacl -d -m u::rwx,g::r-x,o::-,u:1000:rwx dir
umask 077
echo mine >dir/file
mkdir dir/below
tells '^user:1000:rw' dir/file
tells '^default:user:1000:rwx' dir/below
as 1000 sh -c 'echo more >>dir/file'
refused as 1001 cat dir/file
setfacl -k dir
refused tells '^default:' dir

# What was told can be set again.
getfacl -n dir/file >told
setfacl -b dir/file
setfacl --set-file=told dir/file
getfacl -n dir/file | cmp told -
