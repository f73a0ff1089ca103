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
mod workloads;

use std::path::Path;

use crate::{Outcome, command};
use load::Generator;
use options::Options;
use outcome::Results;
use servers::Server;
use site::Site;
use workloads::{Others, WORKLOADS, Workload};

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
        for workload in in_turns(&options, round) {
            for generator in Generator::all(root, &options).iter().filter(|generator| generator.can(workload)) {
                // Who goes first changes, so that neither always follows the other.
                let mut order: Vec<&Server> = servers.iter().collect();
                order.rotate_left(round as usize % servers.len());
                for server in order.into_iter().filter(|server| takes_part(server, workload)) {
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

/// The loads that are wanted, in an order that changes too, since some are held against each other.
fn in_turns(options: &Options, round: u32) -> Vec<&'static Workload> {
    let is_named = |workload: &&Workload| options.load.as_ref().is_none_or(|text| workload.name.contains(text));
    let baselines: Vec<_> = WORKLOADS.iter().filter(is_named).filter_map(|workload| workload.baseline).collect();
    let is_wanted = |workload: &&Workload| is_named(workload) || baselines.contains(&workload.name);
    let mut workloads: Vec<&Workload> = WORKLOADS.iter().filter(is_wanted).collect();
    if round.is_multiple_of(2) {
        workloads.reverse();
    }
    workloads
}

fn takes_part(server: &Server, workload: &Workload) -> bool {
    server.name == "Wharf" || workload.others != Others::Nobody
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
