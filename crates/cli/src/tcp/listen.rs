//! `wharf tcp listen`: the other end of `wharf tcp stream HOST` and `wharf tcp rr HOST`.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use clap::Args;
use report::units;
use segments::kernel::{DEFAULT_PORT, Error, Kind, Listener, Served};

use crate::failure::{Failure, TcpError, explain};

/// Serve as the remote end of `wharf tcp stream` and `wharf tcp rr`.
///
/// Serves one test after another, until Ctrl-C. As with iperf3 -s, anyone who reaches the port can start a test; each
/// test's resources are limited.
#[derive(Debug, Args)]
pub struct Flags {
    /// Address to listen on: ADDR:PORT, an address or a port. [default: port 5210 of all addresses]
    #[arg(value_name = "ADDR:PORT", value_parser = parse_address)]
    address: Option<SocketAddr>,
    /// Port for the data connections of a test, for firewalls; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    data_port: u16,
    /// Exit after one completed test.
    #[arg(short = '1', long)]
    once: bool,
}

/// Serves tests, and prints a line for each.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let listener = bind(flags).map_err(TcpError::Kernel)?;
    let address = listener.address().map_err(TcpError::Kernel)?;
    let mut output = io::stdout();
    writeln!(output, "listening on {address}; Ctrl-C ends")?;
    output.flush()?;
    // A test does not fail because nobody reads the line.
    let tell = |served: &Served| drop(writeln!(io::stdout(), "{}", line(served)));
    Ok(listener.serve(flags.once, tell).map_err(TcpError::Kernel)?)
}

/// Listens on all addresses of both families by default, or of IPv4 only if there is no IPv6.
fn bind(flags: &Flags) -> Result<Listener, Error> {
    let any = |ip: IpAddr| Listener::bind(SocketAddr::new(ip, DEFAULT_PORT), flags.data_port);
    match flags.address {
        Some(address) => Listener::bind(address, flags.data_port),
        None => any(Ipv6Addr::UNSPECIFIED.into()).or_else(|error| match error {
            Error::Listen { source, .. } if source.kind() != io::ErrorKind::AddrInUse => {
                any(Ipv4Addr::UNSPECIFIED.into())
            }
            other => Err(other),
        }),
    }
}

fn line(served: &Served) -> String {
    let peer = served.peer;
    match (&served.ended, served.test.as_ref().map(|test| test.kind)) {
        (Ok(end), Some(Kind::Requests { .. })) => {
            format!("{peer}: {} requests in {:.3} s", end.transactions, end.elapsed.as_secs_f64())
        }
        (Ok(end), _) => {
            let (sent, received) = (end.sent_bytes as f64, end.received_bytes as f64);
            let (sent, received) = (units::binary_bytes(sent), units::binary_bytes(received));
            format!("{peer}: {received} received and {sent} sent in {:.3} s", end.elapsed.as_secs_f64())
        }
        (Err(error), _) => format!("{peer}: {}", explain(error)),
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = || text.parse().map(|port| SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port)).ok();
    let address = || text.parse().map(|ip| SocketAddr::new(ip, DEFAULT_PORT)).ok();
    let wrong = || "an address, a port or both are needed, such as 10.0.0.1:5210, [::1]:5210 or 5210".to_owned();
    text.parse().ok().or_else(port).or_else(address).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_may_be_left_out_in_part() {
        let shown = |text| parse_address(text).map(|address| address.to_string());
        assert_eq!(shown("10.0.0.1:7"), Ok("10.0.0.1:7".to_owned()));
        assert_eq!(shown("7"), Ok("[::]:7".to_owned()));
        assert_eq!(shown("::1"), Ok(format!("[::1]:{DEFAULT_PORT}")));
        assert!(shown("host").is_err());
    }
}
