//! `wharf tcp trace`: the sizes of data packets in a capture.

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

/// Classify the data packets of a capture: single-MSS, full, fractional, super-segments.
///
/// Each direction of a connection has a row. A super-segment has more data than the MSS; the network card or the kernel
/// cuts it after the capture. `Early` counts single-MSS packets that the sender followed with more data within 1 ms
/// without a packet from the peer that allowed it. A sender with offload should have none. Capture with `tcpdump -i IF
/// -s 128 -w FILE tcp`.
#[derive(Debug, Args)]
pub struct Flags {
    /// Capture file (pcap or pcapng); - reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also show intervals of this length. Above 256 intervals the length doubles.
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    interval: Option<Duration>,
    /// Maximum data bytes of a packet, without TCP options. [default: from the handshake, or that of Ethernet]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1..))]
    mss: Option<u16>,
    /// Draw the packets over time to this SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The default length of intervals.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(1);

/// Shows a capture. A capture that ends early is shown up to there, and then fails.
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

/// Returns the flows with data, those with most bytes first.
fn senders(trace: &Trace) -> Vec<&Flow> {
    let mut flows: Vec<&Flow> = trace.flows.iter().filter(|flow| flow.tally.packets() > 0).collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.tally.bytes));
    flows
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = config::parse_timeout(text).map_err(|error| error.to_string())?;
    interval
        .filter(|interval| !interval.is_zero())
        .ok_or_else(|| "an interval longer than 0 is required, such as 1ms".to_owned())
}
