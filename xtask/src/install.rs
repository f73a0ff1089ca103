//! Foreign programs: clients of tests, and servers to be compared with. Where this may install software, it installs
//! what is missing; where it may not, it says what is left out.

use std::path::Path;
use std::process::Command;

use crate::command;

/// A program and the Debian packages that bring it.
pub struct Program {
    pub name: &'static str,
    pub packages: &'static [&'static str],
}

/// A program that is published as a crate.
pub struct ForeignCrate {
    pub name: &'static str,
    pub version: &'static str,
}

/// Installs those of the crates' programs that `folder` does not have. What fails is reported; the checks that want
/// it count as skipped.
pub fn ensure_crates(root: &Path, folder: &Path, crates: &[ForeignCrate]) {
    for wanted in crates.iter().filter(|wanted| !folder.join("bin").join(wanted.name).exists()) {
        // Unoptimised: these programs wait for what they test.
        let mut install = command::cargo(root, &["install", "--quiet", "--locked", "--debug", "--root"]);
        install.arg(folder).arg(format!("{}@{}", wanted.name, wanted.version));
        // Built beside this checkout's own crates they would be built again whenever those are.
        install.env("CARGO_TARGET_DIR", folder.join("build"));
        if let Err(failure) = command::run(install) {
            println!("missing: {} ({failure}): checks that need it are skipped", wanted.name);
        }
    }
}

/// Installs what is missing, if that is possible. `without` says what happens without it.
pub fn ensure(programs: &[Program], without: &str) {
    let missing: Vec<&Program> = programs.iter().filter(|program| !is_there(program.name)).collect();
    if missing.is_empty() {
        return;
    }
    let names: Vec<&str> = missing.iter().map(|program| program.name).collect();
    if !may_install() {
        println!("missing: {}: {without} (this is not root on a system with apt)", names.join(", "));
        return;
    }
    let packages = missing.iter().flat_map(|program| program.packages.iter().copied());
    let install = ["install", "--yes", "--no-install-recommends"].into_iter().chain(packages).collect();
    for arguments in [vec!["update"], install] {
        let mut apt = Command::new("apt-get");
        apt.args(["--quiet", "--quiet"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        if let Err(failure) = command::run(apt) {
            println!("missing: {}: {without} ({failure})", names.join(", "));
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
