//! Who takes part, and who does not, with the reason.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::files::READ_FILE;
use crate::ceiling::Way;
use crate::contender::{Contender, NOBODY, Named};
use crate::experiments::contenders::{ganesha, wharf_twice};
use crate::experiments::kind::Conditions;

/// Wharf that keeps no open files; only loads whose connections have files of their own show what that costs.
pub(super) const UNCACHED: &str = "Wharf without open files";
/// Wharf that finds files by their paths, since it may not open them by the kernel's handles.
pub(super) const UNPRIVILEGED: &str = "Wharf without privileges";
/// No server: the system calls that a listing needs.
pub(super) const SYSTEM_CALLS: &str = "system calls";
/// What the names of responders begin with.
const CEILING: &str = "ceiling: ";

/// All contenders, and why others take no part.
pub(super) fn all(conditions: &Conditions) -> (Vec<Named>, Vec<String>) {
    let (mut found, mut skipped) = (wharf_twice(), Vec::new());
    let uncached = ["--open-files", "0"].map(str::to_owned).to_vec();
    found.push(Named { name: UNCACHED.to_owned(), contender: Contender::Wharf(uncached) });
    for candidate in [unprivileged(&conditions.server_program), ganesha()] {
        match candidate {
            Ok(contender) => found.push(contender),
            Err(why) => skipped.push(why),
        }
    }
    found.extend(Way::ALL.map(ceiling));
    found.extend(conditions.servers.clone());
    (found, skipped)
}

/// Whether it is a whole server, which is started here.
pub(super) fn is_started_server(one: &Named) -> bool {
    let is_variant = [UNCACHED, UNPRIVILEGED].contains(&one.name.as_str()) || way(&one.name).is_some();
    !is_variant && !matches!(one.contender, Contender::Running(_))
}

/// What a responder is called.
pub(super) fn ceiling_name(way: Way) -> String {
    format!("{CEILING}{way}")
}

/// How the responder of this name answers.
pub(super) fn way(name: &str) -> Option<Way> {
    name.strip_prefix(CEILING)?.parse().ok()
}

/// The responder, as a user's own file of an experiment would start it.
fn ceiling(way: Way) -> Named {
    let command = format!(r#""$WHARF" lab ceiling "$EXPORT/{READ_FILE}" --way {way} --listen "127.0.0.1:$PORT""#);
    Named { name: ceiling_name(way), contender: Contender::Command(command) }
}

/// Wharf as a user that only the superuser can become.
fn unprivileged(program: &Path) -> Result<Named, String> {
    if !rustix::process::geteuid().is_root() {
        return Err(format!("{UNPRIVILEGED}: this run has none, so each Wharf here is it; run as root to compare"));
    }
    let mut probe = Command::new(program);
    probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).uid(NOBODY).gid(NOBODY);
    match probe.status().is_ok_and(|status| status.success()) {
        true => Ok(Named { name: UNPRIVILEGED.to_owned(), contender: Contender::UnprivilegedWharf }),
        false => Err(format!(
            "{UNPRIVILEGED}: user {NOBODY} cannot run {}; install it where everybody can read it",
            program.display()
        )),
    }
}
