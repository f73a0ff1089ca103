use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use lab::agents::{Agent, AgentError, AgentEvent, Interruption, Token};
use lab::leftovers;

use crate::ending::end_by;
use crate::failure::{BenchError, Failure};
use crate::{bench, interruption, output};

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
    let interruption = Interruption::default();
    end_with_signal(interruption.clone())?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let agent = Agent { token, version, make_job: bench::make_job, interruption };
    agent.serve(&listener, |event| match event {
        AgentEvent::Accepted(peer) => eprintln!("{peer}: accepted"),
        AgentEvent::Ended(peer, Ok(())) => eprintln!("{peer}: done"),
        AgentEvent::Ended(peer, Err(AgentError::Interrupted)) => eprintln!("{peer}: interrupted before the job's end"),
        AgentEvent::Ended(peer, Err(error)) => eprintln!("{peer}: closed: {error}"),
        AgentEvent::Failed(error) => eprintln!("cannot accept a connection: {error}"),
    });
    Ok(())
}

/// How long a job may take to end after a signal while it removes nothing.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// How often it is seen whether it has.
const INTERVAL: Duration = Duration::from_millis(20);

/// Ends the process after the first signal, as soon as the job at work has ended.
fn end_with_signal(interruption: Interruption) -> Result<(), Failure> {
    let interrupted = interruption::listen()?;
    let wait = move || {
        let Ok(signal) = interrupted.blocking_recv() else { return };
        interruption.interrupt();
        wait_for_end(&interruption);
        if let Some(left) = interruption::left_behind() {
            eprintln!("wharf: interrupted; {left}");
        }
        end_by(signal);
    };
    let spawned = thread::Builder::new().name("interruption".to_owned()).spawn(wait);
    spawned.map(drop).map_err(|source| Failure::System { action: "start a thread", source })
}

fn wait_for_end(interruption: &Interruption) {
    let (mut seen, mut since) = (leftovers::progress(), Instant::now());
    while interruption.is_serving() && since.elapsed() < STOP_TIMEOUT {
        thread::sleep(INTERVAL);
        if leftovers::progress() != seen {
            (seen, since) = (leftovers::progress(), Instant::now());
        }
    }
}
