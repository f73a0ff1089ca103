//! `cargo xtask peers`: Wharf and other servers serve the same files, and take turns in answering the same loads.
//!
//! Everything happens in a network of its own, with a `/run` of its own, so that neither an rpcbind nor an NFS server of
//! this machine is in the way; when the command ends, so does everything in it. With two processors or more the servers
//! run on the first and the load on the second.

mod generator;
mod loads;
mod machine;
mod marks;
mod options;
mod results;
mod sample;
mod servers;
mod site;
mod tables;

use std::path::Path;

use crate::{Outcome, command};
use generator::Generator;
use loads::{Load, Operation};
use options::Options;
use results::{Key, Results};
use servers::{Server, WHARF, WHARF_UNCACHED};
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
    let mut comparison = Comparison {
        servers: start_all(root, &site)?,
        site,
        generators: Generator::all(root, &options),
        results: Results::new(machine::describe(root, &options)),
    };
    for round in 1..=options.rounds {
        for load in in_turns(&options, round) {
            comparison.measure(round, &load);
        }
    }
    println!("{}", tables::to_markdown(&comparison.results)?);
    options.samples.as_deref().map_or(Ok(()), |path| comparison.results.write_samples(path))
}

struct Comparison {
    servers: Vec<Server>,
    site: Site,
    generators: Vec<Generator>,
    results: Results,
}

impl Comparison {
    /// Puts a load on each server with each generator. A run that fails is told of, and the others go on.
    fn measure(&mut self, round: u32, load: &Load) {
        for generator in self.generators.iter().filter(|generator| generator.can(load)) {
            // Who goes first changes, so that neither always follows the other.
            let mut order: Vec<&Server> = self.servers.iter().filter(|server| takes_part(server, load)).collect();
            let first = round as usize % order.len().max(1);
            order.rotate_left(first);
            for server in order {
                let name = format!("round {round}, {}, {}, {load}", server.name, generator.name());
                match generator.run(&self.site, server, load) {
                    Ok(sample) => {
                        eprintln!("{name}: {sample}");
                        let key =
                            Key { server: server.name.to_owned(), generator: generator.name(), load: load.to_string() };
                        self.results.add(key, round, sample);
                    }
                    Err(failure) => {
                        eprintln!("{name}: {failure}");
                        self.results.failures.push(format!("{name}: {failure}"));
                    }
                }
            }
        }
    }
}

/// The loads that are wanted and what they are held against, in an order that changes too.
fn in_turns(options: &Options, round: u32) -> Vec<Load> {
    let all = loads::all();
    let baselines: Vec<Load> = match options.only_marks {
        true => Vec::new(),
        false => all.iter().filter(|load| options.wants(load)).filter_map(Load::baseline).collect(),
    };
    let mut wanted: Vec<Load> =
        all.into_iter().filter(|load| options.wants(load) || baselines.contains(load)).collect();
    if round.is_multiple_of(2) {
        wanted.reverse();
    }
    wanted
}

fn takes_part(server: &Server, load: &Load) -> bool {
    match server.name {
        WHARF => true,
        WHARF_UNCACHED => load.operation == Operation::ReadOwnFile,
        _ => !load.is_wharfs_alone(),
    }
}

fn start_all(root: &Path, site: &Site) -> Outcome<Vec<Server>> {
    let mut servers = vec![Server::wharf(root, site)?, Server::wharf_uncached(root, site)?];
    if command::is_installed("ganesha.nfsd") && command::is_installed("rpcbind") {
        servers.push(Server::ganesha(site)?);
    } else {
        println!("skipped: NFS-Ganesha is not installed (Debian: nfs-ganesha nfs-ganesha-vfs rpcbind)");
    }
    Ok(servers)
}
