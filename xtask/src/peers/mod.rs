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

use crate::install::{self, Program};
use crate::{Outcome, command};
use comparison::Comparison;
use options::Options;

const GANESHA: Program = Program { name: "ganesha.nfsd", packages: &["nfs-ganesha", "nfs-ganesha-vfs", "rpcbind"] };

/// Prints the comparison as Markdown, and writes the samples where that is asked for.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    if !options.is_inside {
        install::ensure(&[GANESHA], "Wharf is compared with what there is");
        if !options.is_built {
            command::build_wharf(root)?;
        }
        return command::run(site::enter(arguments));
    }
    let mut comparison = Comparison::set_up(root, &options)?;
    // What was found before a server died is worth being seen too.
    let measured = comparison.run(&options);
    println!("{}", tables::to_markdown(&comparison.results)?);
    options.samples.as_deref().map_or(Ok(()), |path| comparison.results.write_samples(path))?;
    measured
}
