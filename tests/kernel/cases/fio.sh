# fio writes blocks with checksums and reads them back: through the page cache and past it, in order and not.
# The guest's memory is small, so what was written goes to the server and comes back from there.
# Every write of version 2 is on stable storage before it is answered (RFC 1094 §2.2.9), 8 KiB at a time.
size=48M
[ "$VERSION" = 3 ] || size=8M
common="--name=x --size=$size --verify=crc32c --verify_fatal=1 --fallocate=none --randrepeat=1 --thread --minimal"
check() { fio $common "$@" >/dev/null; }
check --filename=buffered --rw=randrw --bs=4k --ioengine=psync --fsync=64
check --filename=direct --rw=randwrite --bs=16k --direct=1 --ioengine=io_uring --iodepth=16
check --filename=stream --rw=write --bs=1M --ioengine=psync --end_fsync=1
echo 3 >/proc/sys/vm/drop_caches
check --filename=stream --rw=write --bs=1M --ioengine=psync --verify_only
