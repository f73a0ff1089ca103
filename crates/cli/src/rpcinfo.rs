use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use client::rpcbind::{self, Service};
use client::{Connection, Credentials, Options, Reason, Url};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::remote::{self, ConnectFlags, about, server_url};

/// Show the programs that a server's rpcbind lists.
#[derive(Debug, Args)]
pub struct Flags {
    /// The server: HOST, or HOST:PORT if its rpcbind (or a Wharf server) is neither at port 111 nor at port 2049.
    #[arg(value_name = "HOST", default_value = "localhost")]
    host: String,
    /// Show programs, versions, protocols and ports only, in the format of rpcinfo -p.
    #[arg(short = 'p', long, conflicts_with = "json")]
    ports: bool,
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// The port of rpcbind (RFC 1833 §2).
const RPCBIND_PORT: u16 = 111;
/// The port of NFS (RFC 8881 §2.9.3).
const NFS_PORT: u16 = 2049;
/// How long each of the two may take to answer: two retransmissions over UDP.
const PATIENCE: Duration = Duration::from_secs(5);

/// The services at an address of the host.
type Listed = client::Result<(SocketAddr, Vec<Service>)>;

#[derive(Serialize)]
struct ServiceRecord<'a> {
    program: u32,
    version: u32,
    netid: &'a str,
    address: &'a str,
    port: Option<u16>,
    service: &'static str,
    owner: &'a str,
}

/// Shows the programs.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        let url = server_url(&flags.host)?;
        let services = ask(&url, flags).await?;
        let mut output = Output::new();
        let records: Vec<ServiceRecord<'_>> = services.iter().map(ServiceRecord::new).collect();
        if flags.json {
            output.json(&records)?;
        } else if flags.ports {
            show_ports(&records, &mut output)?;
        } else {
            show(&records, &mut output)?;
        }
        Ok(output.finish()?)
    })
}

async fn ask(url: &Url, flags: &Flags) -> Result<Vec<Service>, Failure> {
    // Queries of rpcbind need neither credentials nor a privileged port.
    let options = Options { credentials: Credentials::None, use_privileged_port: false, ..flags.connect.options() };
    let options = url.over(&options);
    if let Some(port) = options.nfs_port {
        return Ok(connect(url, port, &options).await?.map_err(about(flags.host.clone()))?.1);
    }
    let why = match within_patience(url, RPCBIND_PORT, &options).await? {
        Some(Ok((_, services))) => return Ok(services),
        Some(Err(error)) => match error.reason() {
            Reason::Connect { source, .. } => source.to_string(),
            Reason::NoReply(_) => "no reply".to_owned(),
            _ => return Err(about(flags.host.clone())(error)),
        },
        None => "no reply".to_owned(),
    };
    // A server without rpcbind may have all programs at the usual port of NFS, as Wharf has.
    match within_patience(url, NFS_PORT, &options).await? {
        Some(Ok((address, services))) => {
            eprintln!("wharf: no rpcbind at port {RPCBIND_PORT}; this is the list of the server at {address}");
            Ok(services)
        }
        _ => Err(Failure::NoRpcbind { host: flags.host.clone(), why }),
    }
}

/// As [`connect`]; `None` if nothing answers within [`PATIENCE`].
async fn within_patience(url: &Url, port: u16, options: &Options) -> Result<Option<Listed>, Failure> {
    tokio::time::timeout(PATIENCE, connect(url, port, options)).await.ok().transpose()
}

/// The services that rpcbind knows at the first of the host's addresses that answers at `port`, and that address.
async fn connect(url: &Url, port: u16, options: &Options) -> Result<Listed, Failure> {
    let resolve = |source| Failure::Resolve { host: url.host.clone(), source };
    let mut last = None;
    let addresses: Vec<SocketAddr> =
        tokio::net::lookup_host((url.host.as_str(), port)).await.map_err(resolve)?.collect();
    for address in addresses {
        match Connection::connect(address, &url.host, options).await {
            Ok(connection) => return Ok(rpcbind::dump(&connection).await.map(|services| (address, services))),
            Err(error) => last = Some(error),
        }
    }
    last.map(Err).ok_or_else(|| resolve(io::ErrorKind::NotFound.into()))
}

fn show(records: &[ServiceRecord<'_>], output: &mut Output) -> Result<(), Failure> {
    writeln!(output, "{:>10} {:>7}  {:<6} {:<24} {:<12} owner", "program", "version", "netid", "address", "service")?;
    for ServiceRecord { program, version, netid, address, service, owner, .. } in records {
        writeln!(output, "{program:>10} {version:>7}  {netid:<6} {address:<24} {service:<12} {owner}")?;
    }
    Ok(())
}

/// Shows what version 2 of the protocol has: transports over IPv4, with their ports (RFC 1833 §3.1).
fn show_ports(records: &[ServiceRecord<'_>], output: &mut Output) -> Result<(), Failure> {
    writeln!(output, "{:>10} {:>4} {:>5} {:>6}  service", "program", "vers", "proto", "port")?;
    let is_shown = |record: &&ServiceRecord<'_>| matches!(record.netid, "tcp" | "udp");
    for ServiceRecord { program, version, netid, port, service, .. } in records.iter().filter(is_shown) {
        let (port, service) = (port.unwrap_or_default(), if *service == "-" { "" } else { service });
        writeln!(output, "{}", format!("{program:>10} {version:>4} {netid:>5} {port:>6}  {service}").trim_end())?;
    }
    Ok(())
}

impl<'a> ServiceRecord<'a> {
    fn new(service: &'a Service) -> ServiceRecord<'a> {
        ServiceRecord {
            program: service.program,
            version: service.version,
            netid: &service.netid,
            address: &service.address,
            port: service.port,
            service: program_name(service.program),
            owner: &service.owner,
        }
    }
}

/// The names of programs that belong to NFS; others have none here.
fn program_name(program: u32) -> &'static str {
    match program {
        100_000 => "rpcbind",
        100_003 => "nfs",
        100_005 => "mountd",
        100_011 => "rquotad",
        100_021 => "nlockmgr",
        100_024 => "status",
        100_227 => "nfs_acl",
        _ => "-",
    }
}
