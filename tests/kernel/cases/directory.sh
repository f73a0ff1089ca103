# A directory of 20 000 names, listed while others are added and removed.
cat >/tmp/case.py <<'X'
import os
import threading

COUNT = 20000
# Where the server's directory can be reached past it, most names are made and removed there: each one that the server
# makes or removes is brought to stable storage, which says nothing new 20 000 times.
OWN = "/share/export/directory" if os.path.isdir("/share/export/directory") else "."
names = {f"name-{number:05}-{'x' * (number % 40)}" for number in range(COUNT)}
os.mkdir("large")
for number, name in enumerate(sorted(names)):
    place = "." if number % 10 == 0 else OWN
    os.close(os.open(f"{place}/large/{name}", os.O_CREAT | os.O_WRONLY))
# The client may have listed nothing yet of what was made past it.
open("/proc/sys/vm/drop_caches", "w").write("3")

stop = threading.Event()
errors = []

def change():
    number = 0
    while not stop.is_set():
        try:
            path = f"large/changing-{number % 500}"
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
            if number >= 250:
                os.unlink(f"large/changing-{(number - 250) % 500}")
        except OSError as error:
            errors.append(error)
            return
        number += 1

changer = threading.Thread(target=change)
changer.start()
for attempt in range(4):
    listed = os.listdir("large")
    steady = [name for name in listed if name.startswith("name-")]
    if len(steady) != COUNT or set(steady) != names:
        errors.append(f"listing {attempt}: {len(steady)} names, {len(set(steady))} different, "
                      f"{len(names - set(steady))} missing")
stop.set()
changer.join()
assert not errors, errors
X
python3 /tmp/case.py
ls large | grep -c '^name-' | grep -qx 20000
# Attributes of all, which the client asks for with READDIRPLUS where the version has it.
ls -l large | grep -c ' name-' | grep -qx 20000
own=/share/export/directory/large
[ ! -d "$own" ] || find "$own" -name 'name-*[1-9]-*' -delete
echo 3 >/proc/sys/vm/drop_caches
rm -r large
test ! -e large
