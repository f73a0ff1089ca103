# Extended attributes of the user's (RFC 8276): made, replaced, listed, removed, and kept apart from others.
case $VERSION in
  4.2) ;;
  *)
    echo "extended attributes are in NFSv4.2 (RFC 8276)"
    exit 77
    ;;
esac
cat >/tmp/case.py <<'END'
import errno
import os

# The kernel lists the access control list of NFSv4 among the attributes of a file, where the server has one.
ACLS = {"system.nfs4_acl", "system.nfs4_dacl", "system.nfs4_sacl"}

def listed(path, **options):
    return sorted(set(os.listxattr(path, **options)) - ACLS)

def fails(expected, action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        assert error.errno == expected, (action, error)
    else:
        raise AssertionError(f"{action.__name__}{arguments} succeeded")

os.mkdir("directory")
open("file", "w").close()
for path in ("file", "directory"):
    assert listed(path) == [], listed(path)
    fails(errno.ENODATA, os.getxattr, path, "user.none")
    os.setxattr(path, "user.one", b"first")
    os.setxattr(path, "user.two/..\xe9", bytes(range(256)) * 8)
    assert os.getxattr(path, "user.one") == b"first"
    assert os.getxattr(path, "user.two/..\xe9") == bytes(range(256)) * 8
    assert listed(path) == ["user.one", "user.two/..\xe9"]
    fails(errno.EEXIST, os.setxattr, path, "user.one", b"x", os.XATTR_CREATE)
    fails(errno.ENODATA, os.setxattr, path, "user.three", b"x", os.XATTR_REPLACE)
    os.setxattr(path, "user.one", b"second", os.XATTR_REPLACE)
    os.setxattr(path, "user.empty", b"")
    assert os.getxattr(path, "user.one") == b"second" and os.getxattr(path, "user.empty") == b""
    os.removexattr(path, "user.one")
    fails(errno.ENODATA, os.getxattr, path, "user.one")
    fails(errno.ENODATA, os.removexattr, path, "user.one")

# What can have none has an empty list, so that programs that copy trees with attributes do not stumble.
os.symlink("file", "link")
os.mkfifo("pipe")
for path in ("link", "pipe"):
    assert listed(path, follow_symlinks=False) == [], path

# Many names (ext4 has room for about 4 KiB of them), listed once each.
open("many", "w").close()
names = sorted(f"user.{number:03}-" + "n" * 8 for number in range(60))
for name in names:
    os.setxattr("many", name, b"v")
assert listed("many") == names

# Who may only read may read them and not change them.
os.chmod("file", 0o644)
os.seteuid(1000)
assert os.getxattr("file", "user.empty") == b""
fails(errno.EACCES, os.setxattr, "file", "user.mine", b"x")
os.seteuid(0)
END
python3 /tmp/case.py
