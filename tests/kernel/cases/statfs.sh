# df shows the server's file system.
cat >/tmp/case.py <<'X'
import os

seen = os.statvfs(".")
assert seen.f_blocks > 0 and seen.f_bavail <= seen.f_bfree <= seen.f_blocks, seen
assert seen.f_namemax == 255, seen
if os.path.isdir("/share/export/statfs"):
    # The shared directory is on the file system that is exported. Version 2 has 32 bits for each figure.
    own = os.statvfs("/share/export")
    total, own_total = seen.f_blocks * seen.f_frsize, own.f_blocks * own.f_frsize
    assert abs(total - own_total) <= own_total / 1000, (total, own_total)
    free, own_free = seen.f_bfree * seen.f_frsize, own.f_bfree * own.f_frsize
    assert abs(free - own_free) <= own_total / 20, (free, own_free)
X
python3 /tmp/case.py
df . >/dev/null
