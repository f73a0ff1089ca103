//! `cargo xtask peers`: Wharf and other servers serve the same files, and take turns in answering the same loads.
//!
//! Everything happens in a network of its own, with a `/run` of its own, so that neither an rpcbind nor an NFS server of
//! this machine is in the way; when the command ends, so does everything in it. With two processors or more the servers
//! run on the first and the load on the second.

mod comparison;
mod generator;
mod loads;
pub mod machine;
mod marks;
mod names;
mod options;
mod results;
mod sample;
mod servers;
mod site;
mod tables;

use std::path::Path;

use crate::clients;
use crate::install::{self, Program};
use crate::{Outcome, command};
use comparison::Comparison;
use options::{INSIDE, Options};
use servers::Server;

const GANESHA: Program = Program { name: "ganesha.nfsd", packages: &["nfs-ganesha", "nfs-ganesha-vfs", "rpcbind"] };

/// Prints the comparison as Markdown, and writes the samples where that is asked for.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    if !options.is_inside {
        install::ensure(&[GANESHA], "Wharf is compared with what there is");
        if !options.is_built {
            command::build_wharf(root)?;
        }
        return command::run(site::enter("peers", arguments));
    }
    let mut comparison = Comparison::set_up(root, &options)?;
    // What was found before a server died is worth being seen too.
    let measured = comparison.run(&options);
    println!("{}", tables::to_markdown(&comparison.results)?);
    options.samples.as_deref().map_or(Ok(()), |path| comparison.results.write_samples(path))?;
    measured
}

/// `wharf lab run` in a network, a process table and a few mounts of its own, with rpcbind: NFS-Ganesha takes part there, and nothing
/// of this machine is touched.
pub fn lab(root: &Path, arguments: &[String]) -> Outcome {
    match arguments.split_first() {
        Some((first, rest)) if first == INSIDE => {
            site::set_up_network()?;
            let _rpcbind = command::is_installed("rpcbind").then(|| Server::rpcbind("/run".as_ref())).transpose()?;
            command::run(clients::lab(root, rest))
        }
        _ => {
            install::ensure(&[GANESHA], "Wharf is compared with what there is");
            command::build_wharf(root)?;
            command::run(site::enter("lab", arguments))
        }
    }
}
