# Counts the calls of an untar, two builds and `git status`. Files that were read once are delegated, and then opened and
# looked at without a call; with WHARF_DELEGATIONS=off none is. The last line has the calls of each step.
case $VERSION in
  2 | 3)
    echo "delegations belong to NFSv4"
    exit 77
    ;;
esac
if [ "$KNFSD" = 1 ]; then
  echo "the guest's own server delegates as it likes"
  exit 77
fi
# The calls of one procedure, or of all.
calls() {
  awk -v mount="$MNT" -v procedure="^${1:-[A-Z0-9_]+}(_NOATTR)?:$" '
    $1 == "device" { found = ($5 == mount); calls = 0 }
    found && calls && $1 ~ procedure { count += $2 }
    $1 == "per-op" { calls = 1 }
    END { print count + 0 }' /proc/self/mountstats
}

mkdir -p /tmp/project/include /tmp/project/src
for i in $(seq 40); do
  echo "static inline int header_$i(int x) { return x + $i; }" >"/tmp/project/include/header_$i.h"
done
for i in $(seq 60); do
  for j in $(seq 40); do echo "#include \"header_$j.h\""; done >"/tmp/project/src/source_$i.c"
  echo "int source_$i(int x) { return header_1(x); }" >>"/tmp/project/src/source_$i.c"
done
tar cf /tmp/project.tar -C /tmp/project .

report=""
step() {
  name=$1 all=$(calls) open=$(calls OPEN) look=$(calls GETATTR)
  shift
  "$@"
  last_open=$(($(calls OPEN) - open))
  report="$report$name $(($(calls) - all)) (OPEN $last_open, GETATTR $(($(calls GETATTR) - look))), "
}
build() {
  for source in src/*.c; do gcc -Iinclude "$@" -c -o "${source%.c}.o" "$source"; done
}

step untar tar xf /tmp/project.tar
step build build -O0
step "build again" build -O1
if [ "$DELEGATIONS" != off ]; then
  # 60 objects are written; sources and headers are read without a call.
  [ "$last_open" -le 120 ] || { echo "the second build opened $last_open files"; exit 1; }
fi
git=$(command -v git || echo /share/cases/git)
if [ -x "$git" ]; then
  export HOME=/tmp
  "$git" init -q . 2>/dev/null && "$git" add include src/*.c
  sleep 10
  step "git status" "$git" status -s -uno >/dev/null
fi
echo "${report%, }"
