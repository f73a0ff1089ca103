//! Owners as NFSv4 names them (RFC 7530 §5.9, RFC 8881 §5.9): numbers in digits, or names with a domain.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::OnceLock;

/// The uid and gid of an unknown owner.
const NOBODY: u32 = 65534;
/// The most lines of passwd or group that are read.
const MAX_LINES: usize = 65_536;

/// The number of a user.
pub(super) fn uid(name: &[u8]) -> u32 {
    static USERS: OnceLock<Numbers> = OnceLock::new();
    number(name, || USERS.get_or_init(|| Numbers::read(Path::new("/etc/passwd"))))
}

/// The number of a group.
pub(super) fn gid(name: &[u8]) -> u32 {
    static GROUPS: OnceLock<Numbers> = OnceLock::new();
    number(name, || GROUPS.get_or_init(|| Numbers::read(Path::new("/etc/group"))))
}

fn number(name: &[u8], numbers: impl FnOnce() -> &'static Numbers) -> u32 {
    let digits = std::str::from_utf8(name).ok().and_then(|digits| digits.parse().ok());
    digits.or_else(|| numbers().find(name)).unwrap_or(NOBODY)
}

/// The names of this machine and their numbers, in the format of passwd(5) and group(5): the first field of a line is
/// the name, the third the number.
struct Numbers(HashMap<Vec<u8>, u32>);

impl Numbers {
    fn read(path: &Path) -> Numbers {
        match File::open(path) {
            Ok(file) => Numbers::parse(BufReader::new(file)),
            // A machine without these files has no names.
            Err(_) => Numbers(HashMap::new()),
        }
    }

    fn parse(lines: impl BufRead) -> Numbers {
        let entry = |line: Vec<u8>| {
            let mut fields = line.split(|byte| *byte == b':');
            let (name, number) = (fields.next()?, fields.nth(1)?);
            Some((name.to_vec(), std::str::from_utf8(number).ok()?.parse().ok()?))
        };
        Numbers(lines.split(b'\n').take(MAX_LINES).map_while(Result::ok).filter_map(entry).collect())
    }

    /// The number of `name@domain`; the domain is taken for this machine's.
    fn find(&self, name: &[u8]) -> Option<u32> {
        let name = name.split(|byte| *byte == b'@').next()?;
        self.0.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_this_machine_with_and_without_a_domain() {
        let numbers = Numbers::parse(&b"root:x:0:0::/root:/bin/sh\nbroken\nmail:x:8:8:mail\n"[..]);
        assert_eq!((numbers.find(b"root@example.org"), numbers.find(b"mail")), (Some(0), Some(8)));
        assert_eq!((numbers.find(b"broken"), numbers.find(b"")), (None, None));
    }

    #[test]
    fn digits_are_numbers_and_strangers_are_nobody() {
        assert_eq!((uid(b"1234"), gid(b"0")), (1234, 0));
        assert_eq!(uid(b"nobody-has-this-name@example.org"), NOBODY);
    }
}
