# Files that this client has open are replaced by a local process on the server and by a client of version 3: they stay readable,
# mapped and executable. Returning the delegations of replaced files starts no storm of TEST_STATEID.
case $VERSION in
  2 | 3)
    echo "these versions have no opens"
    exit 77
    ;;
esac
if [ "$KNFSD" = 1 ]; then
  echo "there is no server's directory to change"
  exit 77
fi
dir=${PWD#"$MNT"/}

# Runs a shell line on the server, in this directory.
on_server() {
  echo "cd '$dir' && $1" >/share/local.new
  mv /share/local.new /share/local
  while [ -e /share/local ]; do sleep 0.05; done
}

tests() {
  awk -v mount="$MNT" '
    $1 == "device" { found = ($5 == mount) }
    found && $1 == "TEST_STATEID:" { count += $2 }
    END { print count + 0 }' /proc/self/mountstats
}

other=/mounted-other
mkdir -p $other
mount -t nfs -o "vers=3,$OPTIONS,nolock,port=2049,mountport=2049" "$SERVER:$EXPORT" $other
trap 'umount $other' EXIT

cat >/tmp/holder.py <<'X2'
import mmap, os, sys, time

name = sys.argv[1]
fd = os.open(name, os.O_RDONLY)
mapped = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
# Something of the file is read before it is replaced, and the rest after it.
assert mapped[:4] == b"old "
open(name + ".open", "w").close()
while not os.path.exists(name + ".replaced"):
    time.sleep(0.05)
size = os.fstat(fd).st_size
assert size == 8 << 20, size
for at in range(0, size, 4096):
    how = [lambda: mapped[at:at + 4], lambda: os.pread(fd, 4, at)]
    # First one way, and then the other: the pages in between are in nobody's cache yet.
    assert how[at >> 20 & 1]() == b"old ", at
X2

hold() {
  python3 -c "open('$1', 'wb').write(b'old ' * (2 << 20))"
  echo 3 >/proc/sys/vm/drop_caches
  python3 /tmp/holder.py "$1" &
  holder=$!
  while [ ! -e "$1.open" ]; do sleep 0.05; done
}

replaced() {
  touch "$1.replaced"
  wait $holder || { echo "$1 was lost to its reader"; exit 1; }
}

hold by-server
on_server "echo new >n && mv n by-server"
replaced by-server
[ "$(cat by-server)" = new ]

hold by-client
echo new >"$other/$dir/n"
mv "$other/$dir/n" "$other/$dir/by-client"
replaced by-client

cp "$(command -v sleep)" program
./program 3 &
running=$!
on_server "cp program n && mv n program"
wait $running || { echo "a program that was replaced did not run to its end"; exit 1; }

for number in $(seq 60); do echo "$number" >"kept-$number"; done
for number in 1 2 3; do echo before >"delegated-$number"; done
cat kept-* kept-* delegated-* delegated-* >/dev/null
on_server 'for number in 1 2 3; do echo after >n && mv n "delegated-$number"; done'
sleep 1
before=$(tests)
for again in 1 2 3; do cat kept-* >/dev/null; done
tested=$(($(tests) - before))
[ "$tested" -le 200 ] || { echo "$tested TEST_STATEID after files were replaced on the server"; exit 1; }
for number in 1 2 3; do [ "$(cat "delegated-$number")" = after ]; done
echo "read, mapped and run while a local process and another client replaced them; $tested TEST_STATEID"
