# A repository is made, packed, cloned and committed to, with all its locks by names, renames and maps of memory.
command -v git >/dev/null || { echo "there is no git"; exit 77; }
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main origin
cd origin
for number in $(seq 60); do
  mkdir -p "dir-$((number % 7))"
  seq "$number" $((number * 20)) >"dir-$((number % 7))/file-$number"
done
git add -A
git commit -q -m first
for round in 1 2 3; do
  seq $((round * 1000)) >"dir-$round/file-$round"
  git commit -q -a -m "round $round"
done
git gc -q
cd ..
git clone -q --no-hardlinks origin copy
cd copy
test "$(git log --oneline | wc -l)" = 4
git fsck --strict --no-progress
test -z "$(git status --porcelain)"
echo more >more
git add more
git commit -q -m more
git push -q origin HEAD:other
test "$(git -C ../origin rev-parse other)" = "$(git rev-parse HEAD)"
cd ..
diff -r --exclude=.git --exclude=more origin copy
