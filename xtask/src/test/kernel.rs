//! The checks of `tests/kernel`: the Linux kernel's own client, in a guest, mounts what Wharf serves.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tally::{Counts, KernelChecks};
use crate::{Outcome, command};

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
    let mut checks = Command::new(root.join("tests/kernel/run"));
    checks.arg(&guest.runner).arg(&guest.cache).current_dir(root);
    let mut reader = KernelChecks::default();
    let is_success = super::stream(checks, |line| {
        reader.take(line);
        true
    })?;
    let mut counts = reader.counts();
    if !is_success && counts.failed == 0 {
        println!("FAILED: tests/kernel/run ended with an error that no check reported");
        counts.failed += 1;
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
