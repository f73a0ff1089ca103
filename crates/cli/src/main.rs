//! `wharf`: an NFS server, an NFS client and a performance lab in one program.
//!
//! Each command is a module that reads its flags and hands over to the crates that do the work. The program ends with 0
//! when everything was done, with 1 when something failed and with 2 when the command line made no sense; what failed
//! is said on standard error, with the file and the reason. A command that was interrupted cleans up and then ends by the
//! signal that interrupted it.
#![forbid(unsafe_code)]

mod bench;
mod cat;
mod commands;
mod cp;
mod demo;
mod ending;
mod experiments;
mod failure;
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

use std::process::ExitCode;

use clap::Parser;

use commands::Arguments;

fn main() -> ExitCode {
    match Arguments::parse_from(mount::command_line()).command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
