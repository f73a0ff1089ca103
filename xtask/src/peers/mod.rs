//! `cargo xtask bench-peers`: Wharf and NFS-Ganesha serve the same files in memory, and take turns in answering the same
//! load.
//!
//! Everything happens in a network of its own, with a `/run` of its own, so that neither an rpcbind nor an NFS server of
//! this machine is in the way; when the command ends, so does everything in it. With two processors or more the servers
//! run on the first and the load on the second.

mod load;
mod machine;
mod options;
mod outcome;
mod servers;
mod site;

use std::path::Path;

use crate::{Outcome, command};
use load::{Generator, WORKLOADS};
use options::Options;
use outcome::Results;
use servers::Server;
use site::Site;

/// Prints the comparison as Markdown, and writes the samples where that is asked for.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    if !options.is_inside {
        let build = ["build", "--quiet", "--release", "--locked", "--package", "wharf"];
        command::run(command::cargo(root, &build))?;
        return command::run(site::enter(arguments));
    }
    let site = Site::set_up()?;
    let servers = start_all(root, &site)?;
    let mut results = Results::new(machine::describe(root, &options));
    for round in 1..=options.rounds {
        for workload in &WORKLOADS {
            for generator in Generator::all(root, &options) {
                // Who goes first changes, so that neither always follows the other.
                let mut order: Vec<&Server> = servers.iter().collect();
                order.rotate_left(round as usize % servers.len());
                for server in order {
                    let sample = generator.run(&site, server, workload)?;
                    eprintln!("round {round}, {}, {}, {}: {sample}", server.name, generator.name(), workload.name);
                    results.add((server.name, generator.name(), workload.name), sample);
                }
            }
        }
    }
    println!("{}", results.to_markdown()?);
    options.samples.as_deref().map_or(Ok(()), |path| results.write_samples(path))
}

fn start_all(root: &Path, site: &Site) -> Outcome<Vec<Server>> {
    let mut servers = vec![Server::wharf(root, site)?];
    if command::is_installed("ganesha.nfsd") && command::is_installed("rpcbind") {
        servers.push(Server::ganesha(site)?);
    } else {
        println!("skipped: NFS-Ganesha is not installed (Debian: nfs-ganesha nfs-ganesha-vfs rpcbind)");
    }
    Ok(servers)
}
