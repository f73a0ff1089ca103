//! The checks of `tests/kernel` and `tests/knfsd`: in a guest, the Linux kernel mounts what Wharf serves, and serves
//! what Wharf mounts.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::scripts;
use super::tally::Counts;
use crate::{Outcome, command};

/// What runs the checks: each takes the runner and the cache, and prints a line for each check.
const SCRIPTS: [&str; 3] = ["tests/kernel/run", "tests/kernel/two-guests", "tests/knfsd/run"];

/// A guest that can be started.
struct Guest {
    /// The program that boots it and runs a command in it.
    runner: PathBuf,
    /// Where its kernel and its disk are.
    cache: PathBuf,
}

/// Runs the checks where a guest is found; else says so and counts one skip.
pub fn run(root: &Path) -> Outcome<Counts> {
    let Some(guest) = find(root) else {
        println!("skipped: tests/kernel: no guest; WHARF_GUEST_RUNNER and WHARF_GUEST_CACHE name one");
        return Ok(Counts { skipped: 1, ..Counts::default() });
    };
    command::run(command::cargo(root, &["build", "--quiet", "--release", "--locked", "--package", "wharf"]))?;
    let mut counts = Counts::default();
    for script in SCRIPTS {
        let mut checks = Command::new(root.join(script));
        checks.arg(&guest.runner).arg(&guest.cache).current_dir(root);
        counts += scripts::run(script, checks, |line| println!("{line}"))?;
    }
    Ok(counts)
}

/// The guest that the environment names, or the one beside the checkout. It is used only if it was built already,
/// unless `WHARF_BUILD_GUEST=1` asks to build it.
fn find(root: &Path) -> Option<Guest> {
    let lab = root.join("../shared/vmlab");
    let runner = env::var_os("WHARF_GUEST_RUNNER").map_or_else(|| lab.join("vm-run"), PathBuf::from);
    let cache = env::var_os("WHARF_GUEST_CACHE").map_or_else(|| root.join("../vmcache"), PathBuf::from);
    if !runner.is_file() {
        return None;
    }
    if !is_built(&cache) && env::var_os("WHARF_BUILD_GUEST").is_some_and(|value| value == "1") {
        let mut build = Command::new(runner.with_file_name("vm-build"));
        build.arg(&cache).args(["--qemu", "none"]);
        command::run(build).ok()?;
    }
    is_built(&cache).then_some(Guest { runner, cache })
}

fn is_built(cache: &Path) -> bool {
    ["uml", "qemu"].iter().any(|machine| cache.join(machine).join("root.ext4").is_file())
}
