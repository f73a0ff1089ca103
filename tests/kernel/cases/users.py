"""What cases do as other users."""
import os
import sys

def as_user(uid, action, gid=None, groups=()):
    """Runs `action` as another user; returns the name of the error, or None."""
    pid = os.fork()
    if pid == 0:
        os.setgroups(list(groups))
        os.setgid(gid if gid is not None else uid)
        os.setuid(uid)
        try:
            action()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return os.strerror(status) if status else None

def expect(got, wanted, what):
    if got != wanted:
        sys.exit(f"{what}: {got}, and not {wanted}")
