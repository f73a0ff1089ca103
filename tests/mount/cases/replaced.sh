# A file and a directory that the host or another mount replaces again and again are found by their names on this mount, and
# the last change shows without a wait for the caches.
"$WHARF_PROGRAM" mount "$SOURCE" "$OTHER" -o "$OPTIONS"
case=$(basename "$PWD")
status=0
timeout -k 5 50 python3 - "$VERSION" "$WORK/export/$case" "$OTHER/$case" <<'X' || status=$?
import errno
import os
import sys
import threading
import time

VERSION, PLACES = sys.argv[1], sys.argv[2:]
SECONDS = 4

def write(path, text):
    with open(path, "w") as file:
        file.write(text)

def replace(place, number):
    text = f"{number:08}"
    write(f"{place}/new", text)
    os.rename(f"{place}/new", f"{place}/file")
    os.mkdir(f"{place}/new-dir")
    write(f"{place}/new-dir/file", text)
    os.rename(f"{place}/dir", f"{place}/old-dir")
    os.rename(f"{place}/new-dir", f"{place}/dir")
    os.unlink(f"{place}/old-dir/file")
    os.rmdir(f"{place}/old-dir")

def read(path):
    with open(path) as file:
        try:
            return file.read()
        except OSError as error:
            # NFSv3 has no opens: a file that is removed between its open and the read is gone.
            if error.errno == errno.ESTALE and VERSION == "3":
                return None
            raise

def use(path):
    text = read(path)
    assert text is None or len(text) == 8, (path, text)
    os.stat(path)
    os.access(path, os.R_OK)
    os.statvfs(path)

for place in PLACES:
    os.makedirs(f"{place}/dir", exist_ok=True)
    write(f"{place}/file", "00000000")
    write(f"{place}/dir/file", "00000000")
    last, over = 0, threading.Event()

    def change():
        global last
        while not over.wait(0.5):
            last += 1
            replace(place, last)

    changing = threading.Thread(target=change)
    changing.start()
    end = time.monotonic() + SECONDS
    uses = 0
    try:
        while time.monotonic() < end:
            use("file")
            try:
                use("dir/file")
            except FileNotFoundError:
                pass  # For a moment there is no directory of this name.
            uses += 1
    finally:
        over.set()
        changing.join()
    assert last > 0 and uses > 0
    # Close to open: the file that has the name now is asked for at its open.
    assert read("file") == f"{last:08}", (place, read("file"), last)
X
umount "$OTHER"
exit $status
