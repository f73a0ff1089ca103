# When a file was created: stat tells it, and neither writing nor renaming changes it.
case $VERSION in
  4*) ;;
  *)
    echo "only NFSv4 tells when a file was created"
    exit 77
    ;;
esac
[ "$(uname -r | cut -d. -f1)" -ge 7 ] || {
  echo "the kernel's client does not ask for it"
  exit 77
}

before=$(date +%s)
echo bytes >file
born=$(stat -c %W file)
[ "$born" -ge $((before - 2)) ] && [ "$born" -le $((before + 5)) ] || {
  echo "created at $born, made at $before"
  exit 1
}
sleep 2
echo more >>file
touch -d 2001-01-01 file
mv file renamed
[ "$(stat -c %W renamed)" = "$born" ]
