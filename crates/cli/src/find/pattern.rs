//! Patterns of names (glob(7)).

use std::convert::Infallible;
use std::str::FromStr;

/// A pattern with `*`, `?`, `[…]` and backslashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<u8>);

impl FromStr for Pattern {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Pattern, Infallible> {
        Ok(Pattern(text.as_bytes().to_vec()))
    }
}

impl Pattern {
    /// Whether a name matches.
    pub fn matches(&self, name: &[u8]) -> bool {
        matches(&self.0, name)
    }

    /// Whether a name matches if ASCII letters of both cases are alike.
    pub fn matches_any_case(&self, name: &[u8]) -> bool {
        matches(&self.0.to_ascii_lowercase(), &name.to_ascii_lowercase())
    }
}

/// Matches from left to right. After a failure, the last `*` takes one byte more, so the time is at most the product of
/// both lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut read, mut star) = (0, 0, None);
    while read < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at + 1, read));
            at += 1;
        } else if let Some(end) = one(&pattern[at..], name[read]) {
            at += end;
            read += 1;
        } else if let Some((behind, from)) = star {
            (at, read, star) = (behind, from + 1, Some((behind, from + 1)));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Matches one byte with the beginning of a pattern. Returns how much of the pattern that is.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [b'[', rest @ ..] => match class(rest, byte) {
            Some((is_in, length)) => is_in.then_some(length + 1),
            None => (byte == b'[').then_some(1),
        },
        [first, ..] => (*first == byte).then_some(1),
        [] => None,
    }
}

/// Whether a class, which begins behind its `[`, contains a byte, and its length; `None` if it has no end.
fn class(class: &[u8], byte: u8) -> Option<(bool, usize)> {
    let is_negated = matches!(class.first(), Some(b'!' | b'^'));
    let start = usize::from(is_negated);
    let (mut at, mut is_in) = (start, false);
    while at == start || class.get(at) != Some(&b']') {
        let first = *class.get(at)?;
        match class.get(at + 1..at + 3) {
            Some([b'-', last]) if *last != b']' => {
                is_in |= (first..=*last).contains(&byte);
                at += 3;
            }
            _ => {
                is_in |= first == byte;
                at += 1;
            }
        }
    }
    Some((is_in != is_negated, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_for_a_shell() {
        for (pattern, name, is_match) in [
            ("*.rs", "main.rs", true),
            ("*.rs", "main.rst", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("[a-c]1", "b1", true),
            ("[!a-c]1", "b1", false),
            ("[]x]", "]", true),
            ("[a-]", "-", true),
            ("[a", "[a", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(pattern.parse::<Pattern>().unwrap().matches(name.as_bytes()), is_match, "{pattern} {name}");
        }
        assert!("A*".parse::<Pattern>().unwrap().matches_any_case(b"abc"));
        let hard = "a*".repeat(30).parse::<Pattern>().unwrap();
        assert!(!hard.matches(&[[b'a'; 29].as_slice(), b"b"].concat()));
    }
}
