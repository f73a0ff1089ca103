# The lab compares the kernel's server with Wharf, by each load of this version.
if [ "$VERSION" = 4.0 ]; then
  echo "the lab has no loads of version 4.0"
  exit 77
fi
"$WHARF" lab run peers --quick --rounds 1 --out run --memory-dir "$PWD" --disk-dir "$PWD" \
  --server "knfsd=$MEMORY_URL?version=$VERSION" --only "version=$VERSION" --only server=knfsd >shown
python3 - run/peers/samples.jsonl <<'END'
import json
import sys

passes = [json.loads(line) for line in open(sys.argv[1])]
of_knfsd = [one for one in passes if one["levels"]["server"] == "knfsd" and not one["is_repeated"]]
for one in of_knfsd:
    assert one["failure"] is None and one["figures"]["operations"] > 0, one
assert len(of_knfsd) >= 3, passes
print(f"{len(of_knfsd)} loads on knfsd")
END
