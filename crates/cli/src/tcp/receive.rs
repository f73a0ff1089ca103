//! `wharf tcp receive`: the process that receives a stream at the end of a wire, which experiments start.

use clap::Args;
use segments::user::{self, Error, ReceiveOptions};

use super::stream::parse_memory;
use crate::failure::{Failure, TcpError};

/// Receive one stream at the end of a wire. Experiments start it.
#[derive(Debug, Args)]
pub struct Flags {
    /// Receive buffer (SO_RCVBUF). [default: the kernel's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    receive_buffer: Option<usize>,
    /// Bytes per read.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    read_size: usize,
}

/// Prints the port, waits for the stream, and prints what came.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let options = ReceiveOptions { receive_buffer_bytes: flags.receive_buffer, read_bytes: flags.read_size };
    let received = user::receive(options, &mut std::io::stdout());
    Ok(received.map_err(|source| TcpError::Stream(Error::Receiver(source)))?)
}
