//! Helper of mount(8), which runs `mount.TYPE SOURCE DIR [-sfnv] [-N NAMESPACE] [-t TYPE] [-o OPTIONS]`. With a link
//! `/sbin/mount.wharf` to this program, `mount -t wharf` and fstab(5) work. mount(8) knows our mounts by the type
//! `fuse.wharf`. Without a helper of that name, `mount.fuse` of `fuse3` runs `wharf SOURCE DIR -o OPTIONS`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The prefix of helpers of mount(8).
const HELPER: &[u8] = b"mount.";

/// The command line of this process, translated to `wharf mount` if it is a helper's.
pub fn command_line() -> Vec<OsString> {
    translate(env::args_os().collect())
}

fn translate(line: Vec<OsString>) -> Vec<OsString> {
    let name = line.first().and_then(|program| Path::new(program).file_name());
    let is_helper = name.is_some_and(|name| name.as_bytes().starts_with(HELPER));
    if !is_helper && !line.get(1).is_some_and(|word| is_source(word)) {
        return line;
    }
    let mut words = line.into_iter().skip(1);
    let mut translated: Vec<OsString> = ["wharf", "mount"].map(OsString::from).into();
    let mut lists = Vec::new();
    while let Some(word) = words.next() {
        match word.as_bytes() {
            // The type is this program's name, and mount(8) has already entered the namespace.
            b"-t" | b"-N" => drop(words.next()),
            b"-o" => lists.extend(words.next()),
            [b'-', letters @ ..] if is_cluster(letters) => {
                // There is no mtab to skip (`n`), and no verbose output (`v`).
                if letters.contains(&b's') {
                    lists.insert(0, OsString::from("sloppy"));
                }
                if letters.contains(&b'f') {
                    translated.push(OsString::from("--fake"));
                }
            }
            _ => translated.push(word),
        }
    }
    if !lists.is_empty() {
        translated.extend([OsString::from("-o"), lists.join(OsStr::new(","))]);
    }
    translated
}

/// Whether a word names something to mount. No command and no option has such a name.
fn is_source(word: &OsStr) -> bool {
    let word = word.as_bytes();
    !word.starts_with(b"-") && word.windows(2).any(|pair| pair == b":/")
}

/// Whether mount(8) may pass these letters together.
fn is_cluster(letters: &[u8]) -> bool {
    !letters.is_empty() && letters.iter().all(|letter| b"sfnv".contains(letter))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn translated(line: &str) -> String {
        let words = translate(line.split(' ').map(OsString::from).collect());
        words.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn what_mount_8_says_is_said_to_wharf_mount() {
        assert_eq!(translated("/sbin/mount.wharf h:/x /mnt -o rw,vers=4.2"), "wharf mount h:/x /mnt -o rw,vers=4.2");
        assert_eq!(translated("mount.fuse.wharf h:/x /mnt -n -v -t fuse.wharf"), "wharf mount h:/x /mnt");
        assert_eq!(translated("mount.wharf h:/x /mnt -o ro -sfv"), "wharf mount h:/x /mnt --fake -o sloppy,ro");
        assert_eq!(translated("mount.wharf h:/x /mnt --colour"), "wharf mount h:/x /mnt --colour");
    }

    #[test]
    fn what_mount_fuse_says_is_said_to_wharf_mount() {
        assert_eq!(translated("wharf h:/x /mnt -o rw,remount,dev"), "wharf mount h:/x /mnt -o rw,remount,dev");
        assert_eq!(translated("wharf nfs://h/x /mnt"), "wharf mount nfs://h/x /mnt");
        for line in ["wharf cat h:/x", "wharf mount h:/x /mnt", "wharf --version", "wharf --of=h:/x", "wharf"] {
            assert_eq!(translated(line), line);
        }
    }

    #[test]
    fn command_line_under_another_name_is_left_alone() {
        assert_eq!(translated("/usr/bin/wharf mount h:/x /mnt -f"), "/usr/bin/wharf mount h:/x /mnt -f");
        assert_eq!(translate(vec![OsString::from_vec(vec![0xff])]).len(), 1);
    }
}
