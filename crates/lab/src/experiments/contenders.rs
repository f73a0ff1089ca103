//! The servers that several experiments compare.

use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

use measure::record::Machine;

use crate::contender::{Contender, Named};

/// The reference of experiments that compare servers: Wharf as it is.
pub(crate) const WHARF: &str = "Wharf";
/// What the name of a control ends with.
pub(crate) const CONTROL: &str = ", again (A/A)";
/// The same in a process of its own.
pub(crate) const AGAIN: &str = "Wharf, again (A/A)";

/// NFS-Ganesha with its VFS backend.
pub(crate) const GANESHA: &str = "NFS-Ganesha";

/// The reference and its control.
pub(crate) fn wharf_twice() -> Vec<Named> {
    with_control(vec![Named { name: WHARF.to_owned(), contender: Contender::Wharf(Vec::new()) }])
}

/// The same with the first one once more, behind it.
pub(crate) fn with_control(mut named: Vec<Named>) -> Vec<Named> {
    if let Some(first) = named.first().cloned() {
        named.insert(1, Named { name: format!("{}{CONTROL}", first.name), ..first });
    }
    named
}

/// NFS-Ganesha, or why it takes no part.
pub(crate) fn ganesha() -> Result<Named, String> {
    const RPCBIND_PORT: u16 = 111;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = std::env::split_paths(&path).any(|folder| folder.join("ganesha.nfsd").is_file());
    let why = match (is_installed, TcpStream::connect((Ipv4Addr::LOCALHOST, RPCBIND_PORT)).is_ok()) {
        (true, true) => return Ok(Named { name: GANESHA.to_owned(), contender: Contender::Ganesha }),
        (true, false) => {
            "NFS-Ganesha: it needs rpcbind on port 111 of this machine; start it as root with `rpcbind -i`"
        }
        (false, _) => "NFS-Ganesha: it is not installed (Debian: nfs-ganesha nfs-ganesha-vfs rpcbind)",
    };
    Err(why.to_owned())
}

/// Notes the version of NFS-Ganesha, where it takes part.
pub(crate) fn describe_programs(contenders: &[Named], machine: &mut Machine) {
    if contenders.iter().any(|one| one.contender == Contender::Ganesha)
        && let Ok(output) = Command::new("ganesha.nfsd").arg("-v").output()
        && let Some(version) = String::from_utf8_lossy(&output.stdout).lines().next()
    {
        machine.programs.insert("ganesha.nfsd".to_owned(), version.to_owned());
    }
}
