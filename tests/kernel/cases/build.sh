# A source tree is unpacked, compared with its archive, built and run.
mkdir /tmp/tree && cd /tmp/tree
mkdir -p include src/deep/er
cat >include/sum.h <<'X'
unsigned long sum(const unsigned char *bytes, unsigned long count);
X
cat >src/deep/er/sum.c <<'X'
#include "sum.h"
unsigned long sum(const unsigned char *bytes, unsigned long count) {
    unsigned long total = 0;
    while (count--) total = total * 31 + *bytes++;
    return total;
}
X
cat >src/main.c <<'X'
#include <stdio.h>
#include "sum.h"
int main(int argc, char **argv) {
    unsigned char buffer[65536];
    FILE *file = fopen(argv[argc - 1], "rb");
    size_t count = fread(buffer, 1, sizeof buffer, file);
    printf("%lu\n", sum(buffer, count));
    return 0;
}
X
for i in $(seq 100); do echo "int unused_$i = $i;" >"src/unused_$i.c"; done
ln -s ../include/sum.h src/sum.h
chmod 755 src/main.c
tar cf /tmp/tree.tar .
cd "$OLDPWD"

tar xf /tmp/tree.tar
tar df /tmp/tree.tar
for source in src/*.c src/deep/er/*.c; do
  gcc -Iinclude -c -o "${source%.c}.o" "$source"
done
ar rc libunused.a src/unused_*.o
gcc -o program src/main.o src/deep/er/sum.o libunused.a
printf abc >input
test "$(./program input)" = 96354
cp program /tmp/program.local
cmp program /tmp/program.local
tar cf packed.tar src include
mkdir again
tar xf packed.tar -C again
diff -r src again/src
rm -rf again
test ! -e again
