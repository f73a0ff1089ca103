//! `wharf tcp trace`: the sizes of the data packets in a capture.

mod chart;
mod record;
mod tables;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use segments::trace::{self, Flow, Options, Trace};

use crate::failure::{Failure, TcpError};
use crate::output::Output;
use record::TraceRecord;

/// Count the data packets of a capture: single-MSS, full, fractional, super-segments.
///
/// Each direction of a connection has a row. A super-segment is a packet with more data than the MSS, which the
/// network card or the kernel behind the capture cuts. Early are single-MSS packets behind which more
/// left within 1 ms, though the other end had said nothing that allowed more: in a capture at a sender with offload there
/// should be none. `tcpdump -i IF -s 128 -w FILE tcp` writes a capture that is
/// enough.
#[derive(Debug, Args)]
pub struct Flags {
    /// The capture, as pcap or pcapng; - is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// Show intervals of this length too; they get longer by powers of two when there are more than 256.
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    interval: Option<Duration>,
    /// The most data of one packet in bytes, without options. [default: what the handshake says, or Ethernet's without
    /// one]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1..))]
    mss: Option<u16>,
    /// Draw the packets over time to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The length of intervals when nobody says.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(1);

/// Shows what a capture says. One that ends early is shown as far as it goes, and fails then.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let capture = open(&flags.file)?;
    let options = Options { mss: flags.mss.map(usize::from), interval: flags.interval.unwrap_or(DEFAULT_INTERVAL) };
    let (trace, ended) = trace::read(capture, options);
    if ended.is_ok() || trace.tcp_packets > 0 {
        show(flags, &trace)?;
    }
    ended.map_err(|source| TcpError::Trace { path: flags.file.clone(), source })?;
    Ok(())
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(|source| Failure::Local { path: path.to_owned(), source })?;
    Ok(Box::new(file))
}

fn show(flags: &Flags, trace: &Trace) -> Result<(), Failure> {
    let mut output = Output::new();
    if flags.json {
        output.json(&TraceRecord::new(trace))?;
    } else {
        write!(output, "{}", tables::connections(trace))?;
        if flags.interval.is_some() {
            write!(output, "\n{}", tables::intervals(trace))?;
        }
    }
    output.finish()?;
    if let Some(path) = &flags.svg {
        let svg = chart::draw(trace).map_err(TcpError::Chart)?;
        fs::write(path, svg).map_err(|source| Failure::Local { path: path.clone(), source })?;
    }
    Ok(())
}

/// The flows with data, those with most bytes first.
fn senders(trace: &Trace) -> Vec<&Flow> {
    let mut flows: Vec<&Flow> = trace.flows.iter().filter(|flow| flow.tally.packets() > 0).collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.tally.bytes));
    flows
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = config::parse_timeout(text).map_err(|error| error.to_string())?;
    interval.filter(|interval| !interval.is_zero()).ok_or_else(|| "an interval has a length".to_owned())
}
