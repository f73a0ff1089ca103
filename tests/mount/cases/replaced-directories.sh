# Another client replaces a directory, or appends to a file: the first call here that meets it finds what is there now.
. "$NOT"
"$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "vers=$VERSION,mountport=$PORT"
trap 'cd /; umount "$OTHER"' EXIT
other=$OTHER/${PWD##*/}
replace() {
  rm -rf "$other/dir.old"
  mkdir "$other/dir.new"
  echo "$1" >"$other/dir.new/file"
  [ ! -e "$other/dir" ] || mv "$other/dir" "$other/dir.old"
  mv "$other/dir.new" "$other/dir"
  rm -rf "$other/dir.old"
}
replace first
count=0
for call in 'mkdir dir/made' 'ln -s x dir/made' 'mkfifo dir/made' 'ls dir' 'touch dir/made' 'stat dir/file' 'rm dir/file'; do
  stat dir/file >/dev/null
  ls dir >/dev/null
  replace "$call"
  sh -c "$call" >/dev/null || { echo "$call: status $?"; exit 1; }
  count=$((count + 1))
  rm -rf "$other/dir"
  sleep 1.1
  replace again
done
python3 - "$other/grows" <<'P'
import mmap, os, sys
open("grows", "wb").write(b"A" * 4096)
fd = os.open("grows", os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
assert os.preadv(fd, [page], 0) == 4096
with open(sys.argv[1], "ab") as other:
    other.write(b"Z" * 4096)
assert os.preadv(fd, [page], 4096) == 4096 and page[0:1] == b"Z"
os.truncate(sys.argv[1], 2048)
assert os.preadv(fd, [page], 0) == 2048
P
echo "$count calls in replaced directories, and a direct read of what was appended"
