use std::str::FromStr;

use clap::Args;
use client::{Follow, Url};
use names::{IdKind, MachineNames, NameService};
use vfs::SetAttributes;

use crate::failure::{Failure, Failures};
use crate::remote::{self, ConnectFlags, Session, set_attributes};

/// Change the owner and group of files.
///
/// Goes on with the other files after a failure.
#[derive(Debug, Args)]
pub struct Flags {
    /// The new owner, group or both, as names of this machine or numbers: USER, USER:GROUP or :GROUP.
    #[arg(value_name = "OWNER")]
    owner: Ownership,
    /// The files, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// Change directories and their contents. Symbolic links in them are changed themselves.
    #[arg(short = 'R', long, visible_short_alias = 'r')]
    recursive: bool,
    /// Change symbolic links, not the files they lead to.
    #[arg(short = 'h', long)]
    no_dereference: bool,
    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// A new owner, group or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ownership {
    uid: Option<u32>,
    gid: Option<u32>,
}

impl FromStr for Ownership {
    type Err = String;

    fn from_str(text: &str) -> Result<Ownership, String> {
        let (user, group) = text.split_once(':').map_or((text, None), |(user, group)| (user, Some(group)));
        let uid = (!user.is_empty()).then(|| number(IdKind::User, user)).transpose()?;
        let gid = match group {
            Some("") => return Err("name the group behind the colon".to_owned()),
            group => group.map(|group| number(IdKind::Group, group)).transpose()?,
        };
        if uid.is_none() && gid.is_none() {
            Err("write USER, USER:GROUP or :GROUP".to_owned())
        } else {
            Ok(Ownership { uid, gid })
        }
    }
}

/// The number of a user or group of this machine, or the number that is written.
fn number(kind: IdKind, name: &str) -> Result<u32, String> {
    let written = name.parse().ok().filter(|number| *number != u32::MAX);
    let known = || MachineNames.id(kind, name).map_err(|error| error.to_string());
    let what = || if kind == IdKind::User { "user" } else { "group" };
    written
        .map_or_else(known, |number| Ok(Some(number)))?
        .ok_or_else(|| format!("there is no {} {name} here; write its number", what()))
}

/// Changes the owners.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        let mut failures = Failures::default();
        for url in &flags.urls {
            let result = change(url, flags, &mut failures).await;
            failures.go_on(result)?;
        }
        failures.finish()
    })
}

async fn change(url: &Url, flags: &Flags, failures: &mut Failures) -> Result<(), Failure> {
    let session = Session::open(url, &flags.connect).await?;
    let itself = flags.no_dereference || flags.recursive;
    let top = session.find(if itself { Follow::Nothing } else { Follow::Links }).await?;
    let Ownership { uid, gid } = flags.owner;
    let set = SetAttributes { uid, gid, ..SetAttributes::default() };
    set_attributes((&session, top), flags.recursive, failures, |_| Some(set)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_names_or_numbers() {
        for (text, uid, gid) in [
            ("7", Some(7), None),
            ("7:8", Some(7), Some(8)),
            (":8", None, Some(8)),
            ("root", Some(0), None),
            ("root:0", Some(0), Some(0)),
        ] {
            assert_eq!(text.parse(), Ok(Ownership { uid, gid }), "{text}");
        }
        for text in ["", ":", "7:", "4294967295", "no user of this name"] {
            assert!(text.parse::<Ownership>().is_err(), "{text}");
        }
    }
}
