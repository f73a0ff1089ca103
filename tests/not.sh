# For shell scripts that end at the first command that fails: a check that holds when its command fails, which `!` does not end them for.
not() { if "$@"; then echo "should fail: $*"; exit 1; fi; }
