//! Modes as chmod(1) reads them.

use std::str::FromStr;

use vfs::{Attributes, FileKind};

const SETUID: u32 = 0o4000;
const SETGID: u32 = 0o2000;
const STICKY: u32 = 0o1000;
const ALL: u32 = 0o7777;
/// With this many digits, an octal mode also clears the first two of these bits on directories.
const ALL_DIGITS: usize = 5;

/// A change of permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode(Vec<Change>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    /// The bits of the users that are named; 0 for all but the umask.
    who: u32,
    action: Action,
    bits: Bits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Add,
    Remove,
    Assign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bits {
    /// These for everybody. `is_execute_too`: also execution, where it makes sense (`X`).
    Of { bits: u32, is_execute_too: bool },
    /// Those that these users have, at this distance from the last three bits.
    Copied(u32),
    /// All twelve. `keeps`: set-user-ID and set-group-ID of directories stay.
    Octal { bits: u32, keeps: bool },
}

/// Why a text is no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write an octal number up to 7777, or changes such as u+x,go-w")]
pub struct ModeError;

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Mode, ModeError> {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            let bits = u32::from_str_radix(text, 8).ok().filter(|bits| *bits <= ALL).ok_or(ModeError)?;
            let bits = Bits::Octal { bits, keeps: text.len() < ALL_DIGITS };
            return Ok(Mode(vec![Change { who: ALL, action: Action::Assign, bits }]));
        }
        let mut changes = Vec::new();
        for clause in text.split(',') {
            let end = clause.find(['+', '-', '=']).ok_or(ModeError)?;
            let (who, mut rest) = clause.split_at(end);
            let who = who.chars().map(bits_of).try_fold(0, |all, who| Ok(all | who?))?;
            while let Some(first) = rest.chars().next() {
                let action = match first {
                    '+' => Action::Add,
                    '-' => Action::Remove,
                    '=' => Action::Assign,
                    _ => return Err(ModeError),
                };
                let end = rest[1..].find(['+', '-', '=']).map_or(rest.len(), |end| end + 1);
                changes.push(Change { who, action, bits: rest[1..end].parse()? });
                rest = &rest[end..];
            }
        }
        Ok(Mode(changes))
    }
}

fn bits_of(who: char) -> Result<u32, ModeError> {
    match who {
        'u' => Ok(SETUID | 0o700),
        'g' => Ok(SETGID | 0o070),
        'o' => Ok(STICKY | 0o007),
        'a' => Ok(ALL),
        _ => Err(ModeError),
    }
}

impl FromStr for Bits {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Bits, ModeError> {
        match text {
            "u" => return Ok(Bits::Copied(6)),
            "g" => return Ok(Bits::Copied(3)),
            "o" => return Ok(Bits::Copied(0)),
            _ => {}
        }
        let (mut bits, mut is_execute_too) = (0, false);
        for letter in text.chars() {
            match letter {
                'r' => bits |= 0o444,
                'w' => bits |= 0o222,
                'x' => bits |= 0o111,
                'X' => is_execute_too = true,
                's' => bits |= SETUID | SETGID,
                't' => bits |= STICKY,
                _ => return Err(ModeError),
            }
        }
        Ok(Bits::Of { bits, is_execute_too })
    }
}

impl Mode {
    /// The mode of a file after the change.
    pub fn of(&self, file: &Attributes, umask: u32) -> u32 {
        self.0.iter().fold(file.mode, |mode, change| change.of(mode, file.kind == FileKind::Directory, umask))
    }
}

impl Change {
    fn of(&self, mode: u32, is_dir: bool, umask: u32) -> u32 {
        let (value, named) = match self.bits {
            Bits::Octal { bits, keeps } => (bits, if keeps { bits } else { ALL }),
            Bits::Copied(shift) => ((mode >> shift & 0o7) * 0o111, 0),
            Bits::Of { bits, is_execute_too } => {
                let execute = is_execute_too && (is_dir || mode & 0o111 != 0);
                (if execute { bits | 0o111 } else { bits }, bits)
            }
        };
        // Directories keep these bits unless they are named (chmod(1)).
        let kept = if is_dir { (SETUID | SETGID) & !named } else { 0 };
        let value = value & !kept & if self.who == 0 { !umask } else { self.who };
        match self.action {
            Action::Add => mode | value,
            Action::Remove => mode & !value,
            Action::Assign => mode & (if self.who == 0 { 0 } else { !self.who } | kept) | value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, mode: u32, is_dir: bool) -> String {
        let all = text.parse::<Mode>().unwrap().0;
        format!("{:o}", all.iter().fold(mode, |mode, change| change.of(mode, is_dir, 0o022)))
    }

    #[test]
    fn modes_are_those_that_chmod_sets() {
        for (text, before, after) in [
            ("644", 0o755, "644"),
            ("4755", 0o644, "4755"),
            ("u+x", 0o644, "744"),
            ("+x", 0o644, "755"),
            ("+w", 0o444, "644"),
            ("a+w", 0o444, "666"),
            ("go-w,u=rwx", 0o666, "744"),
            ("u=rw,go=r", 0o777, "644"),
            ("g=u", 0o640, "660"),
            ("o=", 0o777, "770"),
            ("a+X", 0o644, "644"),
            ("a+X", 0o744, "755"),
            ("u+s,+t", 0o755, "5755"),
            ("u-x+w", 0o555, "655"),
            ("=r", 0o777, "444"),
        ] {
            assert_eq!(of(text, before, false), after, "{text} on {before:o}");
        }
        for (text, before, after) in
            [("755", 0o2700, "2755"), ("00755", 0o2700, "755"), ("a+X", 0o644, "755"), ("g-s", 0o2755, "755")]
        {
            assert_eq!(of(text, before, true), after, "{text} on a directory of {before:o}");
        }
        for text in ["", "888", "10000", "u", "z+x", "u+q", "u+x,", "u*x"] {
            assert!(text.parse::<Mode>().is_err(), "{text}");
        }
    }
}
