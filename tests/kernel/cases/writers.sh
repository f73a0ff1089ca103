# What is allowed with a file of somebody else's: to truncate and touch it with permission to write, to link it with permission to
# add names, to open it with O_CREAT without; and what the umask makes of the mode of a new file.
chmod 755 .
# The client's kernel keeps users from linking files of others, unless it is told not to.
echo 0 >/proc/sys/fs/protected_hardlinks
cat >/tmp/case.py <<'X'
import os
import stat
import subprocess

from users import as_user, expect

def forget():
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")

def shared(name, mode=0o666):
    """A file of user 1000 with old times."""
    with open(name, "w") as file:
        file.write("some bytes")
    os.chown(name, 1000, 1000)
    os.chmod(name, mode)
    os.utime(name, (1000000000, 1000000000))
    return name

name = shared("truncated")
expect(as_user(1001, lambda: os.open(name, os.O_WRONLY | os.O_TRUNC)), None, "O_TRUNC by a writer")
expect(os.stat(name).st_size, 0, "size after O_TRUNC")
assert os.stat(name).st_mtime > 1000000000, "O_TRUNC sets the modification time"
name = shared("kept", 0o644)
expect(as_user(1001, lambda: os.open(name, os.O_WRONLY | os.O_TRUNC)), "Permission denied", "O_TRUNC by a reader")
expect(as_user(1001, lambda: os.utime(name)), "Permission denied", "touch by a reader")
expect((os.stat(name).st_size, os.stat(name).st_mtime), (10, 1000000000), "file that nobody may write")
name = shared("touched")
expect(as_user(1001, lambda: os.utime(name)), None, "touch by a writer")
status = os.stat(name)
assert status.st_mtime > 1000000000 and status.st_atime > 1000000000, status
expect(as_user(1001, lambda: os.utime(name, (5, 5))), "Operation not permitted", "explicit time by a writer")

# Files that a user may not both read and write: a private one, and one that runs as its owner.
for name in shared("private", 0o600), shared("set-id", 0o4755):
    expect(as_user(1001, lambda: os.link(name, "not-here")), "Permission denied", f"link of {name} where names are closed")
os.mkdir("names")
os.chmod("names", 0o777)
for name in "private", "set-id":
    expect(as_user(1001, lambda: os.link(name, f"names/{name}")), None, f"link of {name}")
    expect(os.stat(name).st_nlink, 2, f"names of {name}")

# A file that exists can be opened with O_CREAT where no names can be added.
shared("existing")
forget()
expect(as_user(1001, lambda: os.open("existing", os.O_CREAT | os.O_RDWR, 0o600)), None, "O_CREAT of what exists")
forget()
expect(as_user(1001, lambda: os.open("existing", os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600)), None, "O_CREAT, O_TRUNC")
expect((os.stat("existing").st_size, stat.S_IMODE(os.stat("existing").st_mode)), (0, 0o666), "what exists, afterwards")
forget()
expect(as_user(1001, lambda: os.open("none", os.O_CREAT | os.O_RDWR, 0o600)), "Permission denied", "O_CREAT of a new name")

for umask in 0, 0o022, 0o077, 0o177:
    before = os.umask(umask)
    for number, flags in enumerate([os.O_EXCL, 0, os.O_TRUNC]):
        made = f"umask-{umask:o}-{number}"
        os.close(os.open(made, os.O_CREAT | os.O_WRONLY | flags, 0o666))
        expect(oct(stat.S_IMODE(os.stat(made).st_mode)), oct(0o666 & ~umask), f"mode of {made}")
    os.mkdir(f"umask-{umask:o}", 0o777)
    expect(oct(stat.S_IMODE(os.stat(f"umask-{umask:o}").st_mode)), oct(0o777 & ~umask), f"directory under {umask:o}")
    subprocess.run(["cp", "existing", f"copy-{umask:o}"], check=True)
    expect(oct(stat.S_IMODE(os.stat(f"copy-{umask:o}").st_mode)), oct(0o666 & ~umask), f"copy under {umask:o}")
    os.umask(before)
X
PYTHONPATH=$(dirname "$0") python3 -B /tmp/case.py
