use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Why a command did not do all of what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The configuration makes no sense.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// An export cannot be served.
    #[error("{origin}: {source}")]
    Export {
        /// Where it was asked for.
        origin: config::Origin,
        /// Why it cannot.
        source: ExportError,
    },
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] daemon::StartError),
    /// The sockets that the service manager handed over are of no use.
    #[error(transparent)]
    Inherited(#[from] net::NetError),
    /// The exports of a reload cannot be told apart.
    #[error(transparent)]
    Reload(#[from] daemon::ReloadError),
    /// The server said no, or did not answer.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// A local file could not be read or written.
    #[error("{}: {source}", path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Standard output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// The system refuses something that the program needs.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Why an export cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The directory is of no use.
    #[error(transparent)]
    Open(#[from] fs_host::OpenError),
    /// The plan of faults cannot be read.
    #[error("the faults make no sense: {0}")]
    Faults(#[from] fs_fault::ParseError),
}

impl Failure {
    /// Says on standard error what failed, and with which status the program ends.
    pub fn report(&self) -> ExitCode {
        // Whoever reads our output may stop when they have seen enough: `wharf ls … | head` is no failure of anything.
        if matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        eprintln!("wharf: {}", explain(self));
        ExitCode::FAILURE
    }
}

/// The message of an error, with those of its sources that are not in it already.
pub fn explain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_told_once() {
        let source = io::Error::from(io::ErrorKind::NotFound);
        let failure = Failure::System { action: "look", source };
        assert_eq!(explain(&failure), "cannot look: entity not found");
        let bind = net::NetError::Bind {
            address: "127.0.0.1:1".parse().unwrap(),
            transport: "TCP",
            source: io::ErrorKind::AddrInUse.into(),
        };
        assert_eq!(explain(&Failure::Inherited(bind)), "cannot listen on 127.0.0.1:1 over TCP: address in use");
    }
}
