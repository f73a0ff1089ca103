//! Servers that take part in an experiment.

mod counter;
mod ganesha;
mod server;
mod site;
mod work;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use client::Url;

pub(crate) use server::can_count;
pub use server::{Server, StartError};
pub use site::Site;
pub(crate) use work::Work;

/// A server that takes part: how it comes to run.
#[derive(Debug, Clone, PartialEq)]
pub enum Contender {
    /// `wharf serve` with these further arguments.
    Wharf(Vec<String>),
    /// The same whose instructions perf or callgrind can count.
    CountedWharf(Vec<String>),
    /// `wharf serve` as a user without privileges, which only the superuser can start.
    UnprivilegedWharf,
    /// NFS-Ganesha with its VFS backend.
    Ganesha,
    /// A command for the shell. It finds the directory to serve in `$EXPORT`, a directory for its own things in
    /// `$STATE`, its ports in `$PORT` and `$MOUNT_PORT`, and how many threads it should have in `$LOOPS`.
    Command(String),
    /// One that runs already, with the URL of a directory that the experiment may write to.
    Running(Url),
}

impl Contender {
    /// About how long Wharf takes to start, in seconds.
    pub(crate) const START_SECONDS: f64 = 0.05;
    /// The same of NFS-Ganesha.
    const GANESHA_START_SECONDS: f64 = 1.5;
    /// The same of Wharf under callgrind, with its end.
    pub(crate) const COUNTED_START_SECONDS: f64 = 2.0;

    /// About how long it takes to start, in seconds.
    pub(crate) fn start_seconds(&self) -> f64 {
        match self {
            Contender::Wharf(_) | Contender::UnprivilegedWharf | Contender::Command(_) => Self::START_SECONDS,
            Contender::CountedWharf(_) => Self::COUNTED_START_SECONDS,
            Contender::Ganesha => Self::GANESHA_START_SECONDS,
            Contender::Running(_) => 0.0,
        }
    }
}

/// The user and group without privileges, `nobody` on most systems.
pub(crate) const NOBODY: u32 = 65_534;

/// A contender with the name that tables show.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The contender.
    pub contender: Contender,
}

impl Named {
    /// Whether it ran before, so that its process is not known.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.contender, Contender::Running(_))
    }
}

/// A build of Wharf that is compared with others in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// The name that tables show.
    pub name: String,
    /// Its program.
    pub program: PathBuf,
}

/// A text names no build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}': NAME=PATH is wanted, where PATH is a program that exists, such as old=target/old/wharf")]
pub struct BuildError(String);

impl FromStr for Build {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Build, BuildError> {
        let parts = text.split_once('=').filter(|(name, path)| !name.is_empty() && Path::new(path).is_file());
        let (name, path) = parts.ok_or_else(|| BuildError(text.to_owned()))?;
        let program = std::path::absolute(path).map_err(|_| BuildError(text.to_owned()))?;
        Ok(Build { name: name.to_owned(), program })
    }
}

/// A text names no server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamedError {
    /// There is no name.
    #[error("'{0}': NAME=URL, NAME=COMMAND or NAME=ganesha is wanted, such as knfsd=nfs://host/export")]
    NoName(String),
    /// The URL is none.
    #[error("'{text}': {reason}")]
    Url {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl FromStr for Named {
    type Err = NamedError;

    fn from_str(text: &str) -> Result<Named, NamedError> {
        let parts = text.split_once('=').filter(|(name, rest)| !name.is_empty() && !rest.trim().is_empty());
        let (name, rest) = parts.ok_or_else(|| NamedError::NoName(text.to_owned()))?;
        let contender = match rest.trim() {
            "ganesha" => Contender::Ganesha,
            url if url.starts_with("nfs://") => {
                let reason =
                    |error: client::UrlError| NamedError::Url { text: url.to_owned(), reason: error.to_string() };
                Contender::Running(url.parse().map_err(reason)?)
            }
            command => Contender::Command(command.to_owned()),
        };
        Ok(Named { name: name.to_owned(), contender })
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contender::Wharf(arguments) if arguments.is_empty() => f.write_str("wharf serve"),
            Contender::Wharf(arguments) => write!(f, "wharf serve {}", arguments.join(" ")),
            Contender::CountedWharf(arguments) => write!(f, "valgrind wharf serve {}", arguments.join(" ")),
            Contender::UnprivilegedWharf => write!(f, "wharf serve, as user {NOBODY}"),
            Contender::Ganesha => f.write_str("ganesha.nfsd"),
            Contender::Command(command) => f.write_str(command),
            Contender::Running(url) => write!(f, "{url}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_is_a_name_and_a_program_that_exists() {
        let build: Build = "old=/bin/true".parse().unwrap();
        assert_eq!((build.name.as_str(), build.program.as_path()), ("old", Path::new("/bin/true")));
        for wrong in ["/bin/true", "=/bin/true", "old=", "old=/no/such/program"] {
            assert_eq!(wrong.parse::<Build>(), Err(BuildError(wrong.to_owned())));
        }
    }

    #[test]
    fn server_is_a_url_a_known_program_or_a_command() {
        let parse = |text: &str| text.parse::<Named>();
        assert_eq!(parse("g=ganesha").unwrap().contender, Contender::Ganesha);
        let running = parse("knfsd=nfs://host/export?version=3").unwrap();
        assert!(matches!(running.contender, Contender::Running(_)) && running.name == "knfsd");
        let command = "/x/old serve $EXPORT --flag=1".to_owned();
        assert_eq!(parse(&format!("old={command}")).unwrap().contender, Contender::Command(command));
        for wrong in ["", "x", "=x", "x=", "x= "] {
            assert!(matches!(parse(wrong), Err(NamedError::NoName(_))), "{wrong}");
        }
        assert!(matches!(parse("x=nfs://"), Err(NamedError::Url { .. })));
    }
}
