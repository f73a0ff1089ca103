# SQLite with its locks by fcntl: four writers at once, none of whose rows is lost, and a database that is whole at the end.
python3 -c 'import sqlite3' || { echo "this Python has no sqlite3"; exit 77; }
cat >/tmp/case.py <<'X'
import os
import sqlite3

WRITERS, ROWS = 4, 25

def connect():
    return sqlite3.connect("rows.db", timeout=50, isolation_level=None)

first = connect()
first.execute("create table rows (writer integer, row integer, filler blob)")
first.close()
children = []
for writer in range(WRITERS):
    pid = os.fork()
    if pid == 0:
        mine = connect()
        for row in range(ROWS):
            mine.execute("begin immediate")
            mine.execute("insert into rows values (?, ?, zeroblob(3000))", (writer, row))
            mine.execute("commit")
        os._exit(0)
    children.append(pid)
for pid in children:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
last = connect()
assert last.execute("select count(*), count(distinct writer * 1000 + row) from rows").fetchone() == (WRITERS * ROWS,) * 2
assert last.execute("pragma integrity_check").fetchone() == ("ok",)
X
python3 /tmp/case.py
