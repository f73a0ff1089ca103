use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;
use crate::{
    bench, cat, chmod, chown, cp, demo, df, du, experiments, find, ln, log, ls, mkdir, mount, mv, nfsstat, rm, rpcinfo,
    serve, showmount, stat, tcp, touch, truncate,
};

/// NFS server, NFS client and performance lab in one program.
#[derive(Debug, Parser)]
#[command(name = "wharf", version, max_term_width = 100)]
#[command(after_help = "Exit status: 0 on success, 1 on failure, 2 for a wrong command line.")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// Reads the command line, or ends the process with what is wrong with it.
    pub fn read(command_line: Vec<OsString>) -> Arguments {
        let mut command = Arguments::command();
        for name in ["showmount", "rpcinfo"] {
            command = command.mut_subcommand(name, without_files);
        }
        let read = command.clone().try_get_matches_from(command_line);
        let read = read.and_then(|matches| Arguments::from_arg_matches(&matches));
        read.map_err(|error| error.format(&mut command)).unwrap_or_else(|mut error| {
            // An unknown flag is a mistake, and hardly ever a file of that name, for which clap advises `-- -R`.
            if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
                let useful: Vec<_> = tips.into_iter().filter(|tip| !tip.to_string().contains("as a value")).collect();
                if !useful.is_empty() {
                    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(useful));
                }
            }
            error.exit()
        })
    }
}

/// Hides the options of a command that matter for files and directories alone.
fn without_files(command: clap::Command) -> clap::Command {
    let options = ["rsize", "wsize", "max_names"];
    options.into_iter().fold(command, |command, option| command.mut_arg(option, |option| option.hide(true)))
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Serve(Box<serve::Flags>),
    #[command(disable_help_flag = true)]
    Ls(ls::Flags),
    Cat(cat::Flags),
    Cp(cp::Flags),
    Stat(stat::Flags),
    Rm(rm::Flags),
    Mkdir(mkdir::Flags),
    Mount(mount::Flags),
    Mv(mv::Flags),
    Ln(ln::Flags),
    Chmod(chmod::Flags),
    #[command(disable_help_flag = true)]
    Chown(chown::Flags),
    Touch(touch::Flags),
    Truncate(truncate::Flags),
    Find(find::Flags),
    #[command(disable_help_flag = true)]
    Du(du::Flags),
    #[command(disable_help_flag = true)]
    Df(df::Flags),
    Showmount(showmount::Flags),
    Rpcinfo(rpcinfo::Flags),
    Nfsstat(nfsstat::Flags),
    Log(log::Flags),
    Bench(Box<bench::Flags>),
    Lab(experiments::Flags),
    Tcp(tcp::Flags),
    Demo(demo::Flags),
}

impl Command {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Serve(flags) => serve::run(&flags),
            Command::Ls(flags) => ls::run(&flags),
            Command::Cat(flags) => cat::run(&flags),
            Command::Cp(flags) => cp::run(&flags),
            Command::Stat(flags) => stat::run(&flags),
            Command::Rm(flags) => rm::run(&flags),
            Command::Mkdir(flags) => mkdir::run(&flags),
            Command::Mount(flags) => mount::run(&flags),
            Command::Mv(flags) => mv::run(&flags),
            Command::Ln(flags) => ln::run(&flags),
            Command::Chmod(flags) => chmod::run(&flags),
            Command::Chown(flags) => chown::run(&flags),
            Command::Touch(flags) => touch::run(&flags),
            Command::Truncate(flags) => truncate::run(&flags),
            Command::Find(flags) => find::run(&flags),
            Command::Du(flags) => du::run(&flags),
            Command::Df(flags) => df::run(&flags),
            Command::Showmount(flags) => showmount::run(&flags),
            Command::Rpcinfo(flags) => rpcinfo::run(&flags),
            Command::Nfsstat(flags) => nfsstat::run(&flags),
            Command::Log(flags) => log::run(&flags),
            Command::Bench(flags) => bench::run(&flags),
            Command::Lab(flags) => experiments::run(&flags),
            Command::Tcp(flags) => tcp::run(&flags),
            Command::Demo(flags) => demo::run(&flags),
        }
    }
}
