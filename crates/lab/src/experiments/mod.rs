//! The experiments of the lab.

mod andrew;
mod clients;
pub mod custom;
mod handle_cache;
mod mix;
mod neighbours;
mod peers;
mod read_ahead;
mod read_plus;
mod reply_path;
mod restricted;
mod segments;
mod stable_storage;
mod truth;

use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use client::{Url, UrlError, Version};
use measure::record::Machine;

use crate::contender::{Contender, Named};
use crate::engine::{Error, Experiment};
use crate::scratch::Parent;

pub use restricted::{Only, OnlyError, restricted};

/// An experiment by its name.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it asks, in a line.
    pub summary: &'static str,
    /// Makes it; nothing is started or written yet.
    pub make: fn(&Conditions) -> Result<Box<dyn Experiment>, Error>,
}

/// Under which conditions an experiment is done.
#[derive(Debug, Clone)]
pub struct Conditions {
    /// The program `wharf`, which is started as a server.
    pub program: PathBuf,
    /// How much is done in each pass.
    pub scale: Scale,
    /// Where files in memory are made.
    pub memory: Parent,
    /// Where files on a disk are made.
    pub disk: Parent,
    /// Further servers that take part.
    pub servers: Vec<Named>,
}

/// How much is done in each pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Small files, few levels: minutes on any laptop.
    Quick,
    /// Files that are large enough for steady figures.
    #[default]
    Usual,
    /// The sizes of the source.
    Full,
}

/// All experiments.
pub const ALL: [Kind; 12] = [
    reply_path::KIND,
    handle_cache::KIND,
    segments::KIND,
    stable_storage::KIND,
    read_plus::KIND,
    read_ahead::KIND,
    peers::KIND,
    clients::KIND,
    neighbours::KIND,
    mix::KIND,
    andrew::KIND,
    truth::KIND,
];

/// There is no experiment of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no experiment '{name}': did you mean '{nearest}'? `wharf lab list` shows all of them")]
pub struct Unknown {
    /// The name.
    pub name: String,
    /// The name that is most like it.
    pub nearest: &'static str,
}

/// The experiment of this name.
///
/// # Errors
/// [`Unknown`], with the nearest name.
pub fn find(name: &str) -> Result<&'static Kind, Unknown> {
    static KINDS: [Kind; ALL.len()] = ALL;
    let similarity = |kind: &&Kind| strsim::normalized_damerau_levenshtein(kind.name, name);
    let nearest = KINDS.iter().max_by(|one, other| similarity(one).total_cmp(&similarity(other)));
    match nearest {
        Some(kind) if kind.name == name => Ok(kind),
        nearest => Err(Unknown { name: name.to_owned(), nearest: nearest.map_or("", |kind| kind.name) }),
    }
}

/// The reference of experiments that compare servers: Wharf as it is.
pub(crate) const WHARF: &str = "Wharf";
/// The same in a process of its own.
pub(crate) const AGAIN: &str = "Wharf, again (A/A)";

/// NFS-Ganesha with its VFS backend.
pub(crate) const GANESHA: &str = "NFS-Ganesha";

/// The reference and its control.
pub(crate) fn wharf_twice() -> Vec<Named> {
    [WHARF, AGAIN].map(|name| Named { name: name.to_owned(), contender: Contender::Wharf(Vec::new()) }).to_vec()
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

/// A version of NFS by its name, as URLs have it.
pub(crate) fn version(name: &str) -> Result<Version, UrlError> {
    let url: Url = format!("nfs://host/?version={name}").parse()?;
    Ok(url.parameters.version.unwrap_or(Version::V3))
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

/// A name in a record.
pub(crate) fn named<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::engine::{Schedule, Settings};

    pub(crate) fn conditions(scale: Scale) -> Conditions {
        let parent = |path: &str| Parent { path: path.into(), flag: "--dir" };
        let (memory, disk) = (parent("/dev/shm"), parent("/var/tmp"));
        Conditions { program: "wharf".into(), scale, memory, disk, servers: Vec::new() }
    }

    #[test]
    fn every_experiment_has_a_name_of_its_own_and_a_design_whose_parts_fit() {
        for kind in ALL {
            assert_eq!(find(kind.name).unwrap().name, kind.name);
            for scale in [Scale::Quick, Scale::Usual, Scale::Full] {
                let experiment = (kind.make)(&conditions(scale)).unwrap();
                assert_eq!(experiment.design().name, kind.name);
                assert!(Schedule::new(experiment.as_ref(), 1).unwrap().passes_per_round() > 0);
            }
        }
    }

    #[test]
    fn all_quick_experiments_take_less_than_ten_minutes_with_every_server_that_there_may_be() {
        // As root all of them take part; this program is one that any user can run.
        let mut conditions = Conditions { program: "/bin/true".into(), ..conditions(Scale::Quick) };
        if ganesha().is_err() {
            conditions.servers.push(Named { name: GANESHA.to_owned(), contender: Contender::Ganesha });
        }
        let estimate = |kind: &Kind| {
            let servers =
                if ["peers", "neighbours"].contains(&kind.name) { conditions.servers.clone() } else { Vec::new() };
            let experiment = (kind.make)(&Conditions { servers, ..conditions.clone() }).unwrap();
            let schedule = Schedule::new(experiment.as_ref(), 1).unwrap();
            (kind.name, schedule.estimate(&experiment.needs(), Settings::QUICK_ROUNDS).as_secs_f64().round())
        };
        let estimates: Vec<(&str, f64)> = ALL.iter().map(estimate).collect();
        let total: f64 = estimates.iter().map(|(_, seconds)| seconds).sum();
        assert!(total < 600.0, "{total} s: {estimates:?}");
    }

    #[test]
    fn unknown_name_suggests_the_nearest() {
        assert_eq!(find("replypath").unwrap_err().nearest, "reply-path");
        assert_eq!(find("raed-ahead").unwrap_err().nearest, "read-ahead");
    }
}
