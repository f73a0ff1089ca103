# A file of 5 GiB that is mostly holes.
if [ "$VERSION" = 2 ]; then
  echo "NFSv2 has sizes of 32 bits (RFC 1094 §2.3.5)"
  exit 77
fi
truncate -s 5G big
printf start | dd of=big conv=notrunc status=none
printf middle | dd of=big bs=1 seek=4294967290 conv=notrunc status=none
printf end | dd of=big bs=1 seek=$((5 * 1024 * 1024 * 1024 - 3)) conv=notrunc status=none
sync big
echo 3 >/proc/sys/vm/drop_caches
test "$(stat -c %s big)" = 5368709120
# Blocks of 512 bytes: what is written takes little.
test "$(stat -c %b big)" -lt 2048
at() { dd if=big bs=1 skip="$1" count="$2" status=none; }
test "$(at 0 5)" = start
test "$(at 4294967290 6)" = middle
test "$(tail -c 3 big)" = end
# Around the place where 32 bits end, and in a hole behind it.
test "$(dd if=big bs=1M skip=4097 count=8 status=none | tr -d '\0' | wc -c)" = 0
printf x | dd of=big bs=1 seek=4294967296 conv=notrunc status=none
test "$(at 4294967290 7)" = middlex
truncate -s 3G big
test "$(stat -c %s big)" = 3221225472
rm big
