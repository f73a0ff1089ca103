# Truncating a file while others write and sync it, on one mount: an fsync whose data a truncation has dropped ends, too.
cat >/tmp/truncate.sh <<'X'
(for _ in $(seq 100); do echo x >f; done) &
(for _ in $(seq 100); do dd if=/dev/zero of=f bs=10 count=1 conv=notrunc,fsync 2>/dev/null; done) &
(for _ in $(seq 100); do truncate -s 3 f; done) &
wait
X
timeout -k 5 50 sh /tmp/truncate.sh
echo "300 truncations and syncs of one file"
