//! Who takes turns with whom.

use std::path::Path;

use super::generator::Generator;
use super::loads::{self, Load, Operation};
use super::machine;
use super::names::{SYSTEM_CALLS, WHARF, WHARF_AGAIN, WHARF_UNCACHED, ceiling_name};
use super::options::Options;
use super::results::{Key, Place, Results};
use super::sample::Sample;
use super::servers::Server;
use super::site::{LARGE_DIRECTORY, Site};
use crate::ceiling::Way;
use crate::{Failure, Outcome, command};

/// Servers that run, what puts loads on them, and what was found so far.
pub struct Comparison {
    servers: Vec<Server>,
    site: Site,
    generators: Vec<Generator>,
    seconds: f64,
    /// What the order of turns follows from.
    seed: u64,
    /// How many runs there were.
    position: u32,
    pub results: Results,
}

/// What is measured next.
#[derive(Clone, Copy)]
enum Turn<'a> {
    Server(&'a Server),
    Ceiling(Way),
    SystemCalls,
}

impl<'a> Turn<'a> {
    fn name(self) -> &'a str {
        match self {
            Turn::Server(server) => &server.name,
            Turn::Ceiling(way) => ceiling_name(way),
            Turn::SystemCalls => SYSTEM_CALLS,
        }
    }
}

impl Comparison {
    /// Makes the files and starts the servers.
    pub fn set_up(root: &Path, options: &Options) -> Outcome<Comparison> {
        let site = Site::set_up(root, options.export)?;
        let mut results = Results::new(machine::describe(root, options));
        results.wanted = in_turns(options, 1).iter().map(ToString::to_string).collect();
        Ok(Comparison {
            servers: start_all(root, &site, options)?,
            site,
            generators: Generator::all(root, options),
            seconds: options.seconds,
            seed: options.seed,
            position: 0,
            results,
        })
    }

    /// All rounds of all loads that are wanted.
    pub fn run(&mut self, options: &Options) -> Outcome {
        for round in 1..=options.rounds {
            for load in in_turns(options, round) {
                for generator in 0..self.generators.len() {
                    self.measure(round, generator, &load)?;
                }
            }
        }
        Ok(())
    }

    /// Gives everybody a turn. A run that fails is told of, and the others go on, as long as all servers do.
    fn measure(&mut self, round: u32, generator: usize, load: &Load) -> Outcome {
        let generator = &self.generators[generator];
        if !generator.can(load) {
            return Ok(());
        }
        let turns = self.turns((round, self.position), generator, load);
        let run = |turn| match turn {
            Turn::Server(server) => generator.run(&self.site, server, load),
            Turn::Ceiling(way) => self.ceiling(way, generator, load),
            Turn::SystemCalls => self.system_calls(),
        };
        let found: Vec<(String, String, Outcome<Sample>)> =
            turns.into_iter().map(|(turn, pair)| (turn.name().to_owned(), pair.to_owned(), run(turn))).collect();
        let generator = generator.name();
        for (server, pair, outcome) in found {
            let key = Key { server, generator, load: load.to_string() };
            self.results.record(key, Place { round, position: self.position, pair }, outcome);
            self.position += 1;
        }
        match self.servers.iter_mut().find_map(|server| server.is_gone().then_some(&server.name)) {
            Some(name) => Err(Failure::Peer(format!("{name} has ended"))),
            None => Ok(()),
        }
    }

    /// Everybody who does this load, each beside a run of the first server, in random order; with the name of the pair.
    fn turns(&self, (round, position): (u32, u32), generator: &Generator, load: &Load) -> Vec<(Turn<'_>, &str)> {
        let servers = self.servers.iter().filter(|server| takes_part(server, load)).map(Turn::Server);
        let has_ceiling = load.has_ceiling() && generator.is_independent();
        let ceilings = Way::ALL.into_iter().filter(|_| has_ceiling).map(Turn::Ceiling);
        let system_calls = (load.operation == Operation::ReadDirPlus).then_some(Turn::SystemCalls);
        let all: Vec<Turn<'_>> = servers.chain(ceilings).chain(system_calls).collect();
        let order = measure::paired(self.seed, u64::from(round) << u32::BITS | u64::from(position), all.len());
        order.into_iter().map(|turn| (all[turn.contender], all[turn.pair].name())).collect()
    }

    /// A responder for this load alone: it knows one size only.
    fn ceiling(&self, way: Way, generator: &Generator, load: &Load) -> Outcome<Sample> {
        let responder = Server::ceiling(&self.site, way, load.block_bytes)?;
        generator.run(&self.site, &responder, load)
    }

    /// How fast the directory can be listed without a server, on the servers' processor.
    fn system_calls(&self) -> Outcome<Sample> {
        let mut list = self.site.server_command(&command::this_program());
        list.args(["ceiling", "list"]).arg(self.site.export.join(LARGE_DIRECTORY)).arg(self.seconds.to_string());
        let text = String::from_utf8_lossy(&command::output(list)?).into_owned();
        let number = |name: &str| text.trim().split('\t').find_map(|field| field.strip_prefix(name)?.parse().ok());
        match (number("entries/s="), number("listings/s=")) {
            (Some(entries_per_second), Some(operations_per_second)) => {
                Ok(Sample { entries_per_second, operations_per_second, ..Sample::default() })
            }
            _ => Err(Failure::Peer(format!("the listing said: {text}"))),
        }
    }
}

/// The loads that are wanted and what they are compared with, in random order too.
fn in_turns(options: &Options, round: u32) -> Vec<Load> {
    let all = loads::all();
    let baselines: Vec<Load> = match options.only_marks {
        true => Vec::new(),
        false => all.iter().filter(|load| options.wants(load)).filter_map(Load::baseline).collect(),
    };
    let wanted: Vec<Load> = all.into_iter().filter(|load| options.wants(load) || baselines.contains(load)).collect();
    let order = measure::shuffled(options.seed, round.into(), wanted.len());
    order.into_iter().map(|place| wanted[place].clone()).collect()
}

fn takes_part(server: &Server, load: &Load) -> bool {
    match server.name.as_str() {
        WHARF | WHARF_AGAIN => true,
        WHARF_UNCACHED => load.operation == Operation::ReadOwnFile,
        _ => !load.is_wharfs_alone(),
    }
}

fn start_all(root: &Path, site: &Site, options: &Options) -> Outcome<Vec<Server>> {
    // The first one is the reference.
    let mut servers =
        vec![Server::wharf(root, site)?, Server::wharf_again(root, site)?, Server::wharf_uncached(root, site)?];
    if command::is_installed("ganesha.nfsd") && command::is_installed("rpcbind") {
        servers.push(Server::ganesha(site)?);
    } else {
        println!("skipped: NFS-Ganesha is not installed (Debian: nfs-ganesha nfs-ganesha-vfs rpcbind)");
    }
    if options.nfsload.is_none() {
        println!("skipped: a load generator that is not ours, and the ceiling of READs, which it measures (--nfsload)");
    }
    for peer in &options.peers {
        servers.push(Server::peer(site, peer)?);
    }
    Ok(servers)
}
