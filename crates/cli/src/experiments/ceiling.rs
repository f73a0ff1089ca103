use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use lab::ceiling::{Responder, Way};

use crate::failure::{BenchError, Failure};

/// Answer NFSv3 as fast as this machine can, as the ceiling of any server.
///
/// It serves the directory of one file, in which every name is that file. It answers MNT, GETATTR, LOOKUP, ACCESS, READ
/// and FSINFO, and checks nothing: anyone who reaches the port reads the file. It ends with Ctrl-C. `wharf lab run
/// peers` runs it beside the servers.
#[derive(Debug, Args)]
pub struct Flags {
    /// The file that READs are answered from.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How data come to the socket: from memory without the file, by a copy from the file, or by sendfile.
    #[arg(long, value_name = "memory|copy|sendfile", default_value_t = Way::Copy)]
    way: Way,
    /// Where to listen: ADDR:PORT. Port 0 is one that is free. [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
}

/// Answers until it is killed.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let address = flags.listen.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
    let mut responder = Responder::bind(flags.way, address, &flags.file).map_err(BenchError::from)?;
    let mut output = io::stdout();
    if let Ok(address) = responder.address() {
        writeln!(output, "listening on {address}; Ctrl-C ends")?;
        output.flush()?;
    }
    Err(BenchError::from(responder.run()).into())
}
