use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use clap::Args;
use lab::agents::{Agent, AgentEvent, Token};

use crate::failure::{BenchError, Failure};
use crate::{bench, output};

/// Load NFS servers from this host for `wharf bench --agents`, in step with other hosts.
///
/// Whoever knows the token has this host send any load to any NFS server, as this user. The connection is not
/// encrypted: listen on a network that you trust, or forward the port through ssh. One conductor at a time is served.
/// It ends with Ctrl-C.
#[derive(Debug, Args)]
pub struct Flags {
    /// File with the token, a secret of 16 characters or more.
    #[arg(long, value_name = "FILE")]
    token: PathBuf,
    /// Where to listen. Port 0 is one that is free.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7049")]
    listen: SocketAddr,
}

/// Serves until it is killed.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let token = Token::read(&flags.token).map_err(BenchError::from)?;
    let failed = |source| BenchError::Listen { address: flags.listen, source };
    let listener = TcpListener::bind(flags.listen).map_err(failed)?;
    output::line(format_args!("listening on {}; Ctrl-C ends", listener.local_addr().map_err(failed)?))?;
    let agent = Agent { token, version: env!("CARGO_PKG_VERSION").to_owned(), make_job: bench::make_job };
    agent.serve(&listener, |event| match event {
        AgentEvent::Accepted(peer) => eprintln!("{peer}: accepted"),
        AgentEvent::Ended(peer, Ok(())) => eprintln!("{peer}: done"),
        AgentEvent::Ended(peer, Err(error)) => eprintln!("{peer}: closed: {error}"),
        AgentEvent::Failed(error) => eprintln!("cannot accept a connection: {error}"),
    });
    Ok(())
}
