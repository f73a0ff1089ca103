//! `wharf`: an NFS server, an NFS client and a performance lab in one program.
//!
//! Each command is a module that reads its flags and calls the crates that do the work. The exit status is 0 on
//! success, 1 on failure and 2 for a wrong command line. Failures are printed to standard error, with the file and the
//! reason. An interrupted command cleans up, and then ends by the signal.
#![forbid(unsafe_code)]
// It panics when nobody reads the output any more; `output` reports that.
#![deny(clippy::print_stdout)]

mod bench;
mod cat;
mod chmod;
mod chown;
mod commands;
mod cp;
mod demo;
mod df;
mod du;
mod ending;
mod experiments;
mod failure;
mod find;
mod interruption;
mod ln;
mod log;
mod ls;
mod mkdir;
mod mount;
mod mv;
mod nfsstat;
mod output;
mod progress;
mod remote;
mod rm;
mod rpcinfo;
mod serve;
mod showmount;
mod stat;
mod tcp;
mod touch;
mod truncate;

use std::process::ExitCode;

use commands::Arguments;

fn main() -> ExitCode {
    match Arguments::read(find::command_line(mount::command_line().into_iter())).command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
