use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use client::mountd::{self, ExportEntry, MountEntry};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::remote::{self, ConnectFlags, about, display_name, server_url};

/// Show a server's exports, or the clients that have mounted them.
#[derive(Debug, Args)]
pub struct Flags {
    /// The server: HOST, HOST:PORT, or the beginning of a URL.
    #[arg(value_name = "HOST", default_value = "localhost")]
    host: String,
    /// Show exports and their clients. This is the default.
    #[arg(short = 'e', long, conflicts_with_all = ["all", "directories"])]
    exports: bool,
    /// Show the mounted directories of each client, as far as the server remembers.
    #[arg(short = 'a', long)]
    all: bool,
    /// Show the directories that any client has mounted, as far as the server remembers.
    #[arg(short = 'd', long, conflicts_with = "all")]
    directories: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

#[derive(Serialize)]
struct ExportRecord {
    directory: String,
    clients: Vec<String>,
}

#[derive(Serialize)]
struct MountRecord {
    host: String,
    directory: String,
}

/// Shows the list.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        let url = server_url(&flags.host)?;
        let failed = || about(flags.host.clone());
        let connection = mountd::connect(&url, &flags.connect.options()).await.map_err(failed())?;
        let mut output = Output::new();
        if flags.all {
            show_mounts(mountd::dump(&connection).await.map_err(failed())?, flags.json, &mut output)?;
        } else if flags.directories {
            show_directories(mountd::dump(&connection).await.map_err(failed())?, flags.json, &mut output)?;
        } else {
            show_exports(mountd::exports(&connection).await.map_err(failed())?, flags.json, &mut output)?;
        }
        Ok(output.finish()?)
    })
}

fn show_exports(exports: Vec<ExportEntry>, is_json: bool, output: &mut Output) -> Result<(), Failure> {
    let records = exports.iter().map(|export| ExportRecord {
        directory: display_name(&export.directory).to_string(),
        clients: export.clients.iter().map(|client| display_name(client).to_string()).collect(),
    });
    if is_json {
        return output.json(&records.collect::<Vec<_>>());
    }
    for ExportRecord { directory, clients } in records {
        let clients = if clients.is_empty() { "(everyone)".to_owned() } else { clients.join(",") };
        writeln!(output, "{directory} {clients}")?;
    }
    Ok(())
}

fn show_directories(mounts: Vec<MountEntry>, is_json: bool, output: &mut Output) -> Result<(), Failure> {
    let directories: BTreeSet<Vec<u8>> = mounts.into_iter().map(|mount| mount.directory).collect();
    let names = directories.iter().map(|directory| display_name(directory).to_string());
    if is_json {
        return output.json(&names.collect::<Vec<_>>());
    }
    for name in names {
        writeln!(output, "{name}")?;
    }
    Ok(())
}

fn show_mounts(mounts: Vec<MountEntry>, is_json: bool, output: &mut Output) -> Result<(), Failure> {
    let records = mounts.iter().map(|mount| MountRecord {
        host: display_name(&mount.host).to_string(),
        directory: display_name(&mount.directory).to_string(),
    });
    if is_json {
        return output.json(&records.collect::<Vec<_>>());
    }
    for MountRecord { host, directory } in records {
        writeln!(output, "{host}:{directory}")?;
    }
    Ok(())
}
