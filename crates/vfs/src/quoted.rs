//! Paths and names in messages.

use std::ffi::OsStr;

/// Paths as [`quoted`], with "and" between them.
pub fn listed(paths: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    paths.into_iter().map(quoted).collect::<Vec<_>>().join(" and ")
}

/// A path or name as an argument of a shell's command: quoted where a shell would change it. A message is not to show
/// control characters or bytes that are no text: they are octal in `$'…'` (POSIX.1-2024, XCU 2.2.4).
pub fn quoted(text: impl AsRef<OsStr>) -> String {
    let bytes = text.as_ref().as_encoded_bytes();
    // A command would take it for an option.
    let here = if bytes.starts_with(b"-") { "./" } else { "" };
    match str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && text.bytes().all(is_plain) => format!("{here}{text}"),
        Ok(text) if text.chars().all(is_shown) => format!("'{here}{}'", text.replace('\'', r"'\''")),
        _ => format!("$'{here}{}'", bytes.iter().copied().map(escaped).collect::<String>()),
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/:._-@+,=%".contains(&byte)
}

fn is_shown(letter: char) -> bool {
    matches!(letter, '\'' | '"' | '\\') || letter.escape_debug().len() == 1
}

fn escaped(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn plain_paths_stay_as_they_are() {
        assert_eq!(quoted("/srv/my-data_1.x"), "/srv/my-data_1.x");
        assert_eq!(quoted("/srv/Jürgen's"), r"'/srv/Jürgen'\''s'");
        assert_eq!(quoted("-rf"), "./-rf");
        assert_eq!(quoted("/a\x1b[2J"), r"$'/a\033[2J'");
    }

    #[test]
    fn shell_reads_what_was_quoted_and_a_message_shows_it_on_one_line() {
        let names: [&[u8]; 7] = [
            b"",
            b"/a b",
            b"/it's; $(rm) `x` \\ \"",
            b"/a\n\x1b[0m'\\7$x",
            b"/\xff\x80",
            "/\u{202e}gpj".as_bytes(),
            b"~*",
        ];
        for name in names {
            let text = quoted(OsStr::from_bytes(name));
            assert!(!text.contains(|letter: char| letter.is_control() || letter == '\u{202e}'), "{text:?}");
            let read = Command::new("bash").args(["-c", &format!("printf %s {text}")]).output().unwrap();
            assert_eq!(read.stdout, name, "{text}");
        }
    }
}
