# Files go to the server and back, through every library call that the commands make.
. "$NOT"
head -c 3000000 /dev/urandom >data
"$WHARF" cp $FLAGS data "$URL/data"
"$WHARF" cat $FLAGS "$URL/data" | cmp - data
in_guest 'cksum <data' >there
cksum <data | cmp - there
mkdir -p tree/a/b && echo one >tree/a/b/one && ln -s b tree/a/link && : >tree/empty
"$WHARF" cp -r $FLAGS tree "$URL/tree"
"$WHARF" cp -r $FLAGS "$URL/tree" back
diff -r --no-dereference tree back
[ "$("$WHARF" ls $FLAGS "$URL/tree" | tr '\n' ' ')" = "a empty " ]
"$WHARF" stat $FLAGS "$URL/data" | grep -q 3000000
"$WHARF" mkdir $FLAGS "$URL/new"
"$WHARF" mv $FLAGS "$URL/data" "$URL/new/moved"
in_guest 'cksum <new/moved' | cmp - there
"$WHARF" ln $FLAGS "$URL/new/moved" "$URL/again"
[ "$(in_guest 'stat -c %h again')" = 2 ]
"$WHARF" rm $FLAGS "$URL/again"
not "$WHARF" cat $FLAGS "$URL/again" 2>error
grep -qi "no such file" error
# Data and holes by turns: servers tell them by READ_PLUS in ways of their own.
in_guest 'truncate -s 800K holes
  for at in 0 2 5; do dd if=/dev/urandom of=holes bs=64K count=1 seek=$at conv=notrunc status=none; done
  cksum <holes' >there
"$WHARF" cp $FLAGS "$URL/holes" holes
cksum <holes | cmp - there
"$WHARF" cat $FLAGS "$URL/holes" | cksum | cmp - there
