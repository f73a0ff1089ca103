use std::str::FromStr;

use clap::Args;
use client::{Follow, Url};
use vfs::SetAttributes;

use crate::failure::{Failure, Failures};
use crate::remote::{self, ConnectFlags, Session, about, new_file_mode};
use crate::touch::find_or_create;

/// Set the size of files, and create missing ones.
///
/// Goes on with the other files after a failure.
#[derive(Debug, Args)]
pub struct Flags {
    /// The files, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// The size in bytes, or with K, M, G or T. With + or - it is a change, with < or > a limit, and with / or % the
    /// size is rounded down or up to a multiple.
    #[arg(short = 's', long, value_name = "SIZE", allow_hyphen_values = true, required_unless_present = "reference")]
    size: Option<Size>,
    /// Use the size of this file.
    #[arg(short = 'r', long, value_name = "URL", value_parser = remote::url_argument(), conflicts_with = "size")]
    reference: Option<Url>,
    /// Do not create missing files.
    #[arg(short = 'c', long)]
    no_create: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// A new size, which may depend on the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    way: Way,
    bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    To,
    By,
    Less,
    AtMost,
    AtLeast,
    RoundedDown,
    RoundedUp,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let way = match text.bytes().next() {
            Some(b'+') => Way::By,
            Some(b'-') => Way::Less,
            Some(b'<') => Way::AtMost,
            Some(b'>') => Way::AtLeast,
            Some(b'/') => Way::RoundedDown,
            Some(b'%') => Way::RoundedUp,
            _ => Way::To,
        };
        let bytes =
            config::parse_size(if way == Way::To { text } else { &text[1..] }).map_err(|error| error.to_string())?;
        match way {
            Way::RoundedDown | Way::RoundedUp if bytes == 0 => Err("a multiple of 0 is impossible".to_owned()),
            _ => Ok(Size { way, bytes }),
        }
    }
}

impl Size {
    /// The new size of a file of `old` bytes; `None` if no file can be that large.
    fn of(self, old: u64) -> Option<u64> {
        match self.way {
            Way::To => Some(self.bytes),
            Way::By => old.checked_add(self.bytes),
            Way::Less => Some(old.saturating_sub(self.bytes)),
            Way::AtMost => Some(old.min(self.bytes)),
            Way::AtLeast => Some(old.max(self.bytes)),
            Way::RoundedDown => Some(old - old % self.bytes),
            Way::RoundedUp => old.checked_next_multiple_of(self.bytes),
        }
    }
}

/// Sets the sizes.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let mode = new_file_mode();
    remote::run(async {
        let size = match (&flags.reference, flags.size) {
            (Some(url), _) => {
                let file = Session::open(url, &flags.connect).await?.find(Follow::Links).await?;
                Size { way: Way::To, bytes: file.attributes.size_bytes }
            }
            (None, Some(size)) => size,
            (None, None) => return Ok(()),
        };
        let mut failures = Failures::default();
        for url in &flags.urls {
            failures.go_on(set(url, size, flags, mode).await)?;
        }
        failures.finish()
    })
}

async fn set(url: &Url, size: Size, flags: &Flags, mode: u32) -> Result<(), Failure> {
    let session = Session::open(url, &flags.connect).await?;
    let Some(file) = find_or_create(&session, flags.no_create, mode).await? else { return Ok(()) };
    let too_large = || Failure::FileTooLarge { file: session.name() };
    let bytes = size.of(file.attributes.size_bytes).ok_or_else(too_large)?;
    let set = SetAttributes { size_bytes: Some(bytes), ..SetAttributes::default() };
    session.mount.setattr(&file.handle, &set).await.map(drop).map_err(about(session.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_that_truncate_sets() {
        for (text, old, new) in [
            ("5", 9, 5),
            ("1K", 0, 1024),
            ("+5", 9, 14),
            ("-5", 9, 4),
            ("-5", 3, 0),
            ("<5", 9, 5),
            ("<5", 3, 3),
            (">5", 3, 5),
            ("/4", 9, 8),
            ("%4", 9, 12),
        ] {
            assert_eq!(text.parse::<Size>().unwrap().of(old), Some(new), "{text} of {old}");
        }
        assert_eq!("+1".parse::<Size>().unwrap().of(u64::MAX), None);
        for text in ["", "+", "x", "/0", "%0", "--1"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
