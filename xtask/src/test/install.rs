//! Foreign programs that tests use as clients. Where this may install software, it installs what is missing; where it
//! may not, the tests say that they were skipped.

use std::path::Path;
use std::process::Command;

use crate::command;

/// A program and the Debian package that brings it.
struct Program {
    name: &'static str,
    package: &'static str,
}

const PROGRAMS: [Program; 3] = [
    // libnfs's tools are a second client beside Wharf's own.
    Program { name: "nfs-ls", package: "libnfs-utils" },
    // The program that a server registers with.
    Program { name: "rpcbind", package: "rpcbind" },
    // Counts the server's instructions.
    Program { name: "valgrind", package: "valgrind" },
];

/// Installs what is missing, if that is possible.
pub fn foreign_programs() {
    let missing: Vec<&Program> = PROGRAMS.iter().filter(|program| !is_there(program.name)).collect();
    if missing.is_empty() {
        return;
    }
    let names: Vec<&str> = missing.iter().map(|program| program.name).collect();
    if !may_install() {
        println!(
            "missing: {}: tests that need them are skipped (this is not root on a system with apt)",
            names.join(", ")
        );
        return;
    }
    let packages = missing.iter().map(|program| program.package);
    let install = ["install", "--yes", "--no-install-recommends"].into_iter().chain(packages).collect();
    for arguments in [vec!["update"], install] {
        let mut apt = Command::new("apt-get");
        apt.args(["--quiet", "--quiet"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        if let Err(failure) = command::run(apt) {
            println!("missing: {}: tests that need them are skipped ({failure})", names.join(", "));
            return;
        }
    }
}

/// Programs for administrators lie in folders that are not on every path.
fn is_there(program: &str) -> bool {
    command::is_installed(program)
        || ["/usr/sbin", "/sbin"].iter().any(|folder| Path::new(folder).join(program).exists())
}

fn may_install() -> bool {
    command::is_installed("apt-get") && is_root()
}

/// Whether this process is the superuser's: only that one owns its folder in `/proc` as user 0.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}
