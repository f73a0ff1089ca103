//! `cargo xtask test`: every test there is, and one line at the end that counts them.

mod kernel;
mod mount;
mod scripts;
mod tally;

use std::num::NonZero;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

use crate::install::{self, Program};
use crate::{Failure, Outcome, command, growth, instructions};
pub use tally::Counts;
use tally::LibTest;

const FOREIGN_PROGRAMS: [Program; 14] = [
    // libnfs's tools are a second client beside Wharf's own.
    Program { name: "nfs-ls", packages: &["libnfs-utils"] },
    // The program that a server registers with.
    Program { name: "rpcbind", packages: &["rpcbind"] },
    // What people do on a mount.
    Program { name: "fio", packages: &["fio"] },
    Program { name: "git", packages: &["git"] },
    Program { name: "rsync", packages: &["rsync"] },
    // What ordinary users mount with.
    Program { name: "fusermount3", packages: &["fuse3"] },
    // A server beside Wharf's own.
    Program { name: "ganesha.nfsd", packages: &["nfs-ganesha", "nfs-ganesha-vfs", "nfs-common"] },
    // Shows reports as readers see them.
    Program { name: "chromium", packages: &["chromium"] },
    // Counts the server's instructions.
    Program { name: "valgrind", packages: &["valgrind"] },
    // File systems beside ext4 that tests crash and cut.
    Program { name: "mkfs.xfs", packages: &["xfsprogs"] },
    Program { name: "mkfs.btrfs", packages: &["btrfs-progs"] },
    // Captures of traffic, and their count beside Wharf's own.
    Program { name: "tcpdump", packages: &["tcpdump"] },
    Program { name: "tshark", packages: &["tshark"] },
    // TCP streams beside Wharf's own.
    Program { name: "iperf3", packages: &["iperf3"] },
];

/// Runs everything, also after something has failed. The end repeats what failed, and the last line says how many tests
/// passed, failed and were skipped.
pub fn run(root: &Path) -> Outcome {
    install::ensure(&FOREIGN_PROGRAMS, "tests that need them are skipped");
    let mut counts = rust_tests(root)?;
    counts += counts_and_mounts(root)?;
    counts += kernel::run(root)?;
    if counts.failed > 0 {
        println!("\nwhat failed, again:\n{}\n", counts.failures.join("\n"));
    }
    println!("{counts}");
    if counts.failed == 0 { Ok(()) } else { Err(Failure::Tests) }
}

/// What single calls cost, how they grow, and the checks on mounts, all at once: counts need no quiet machine, and the
/// checks on mounts mostly wait.
fn counts_and_mounts(root: &Path) -> Outcome<Counts> {
    thread::scope(|scope| {
        let growth = scope.spawn(|| growth::check(root));
        let mounts = scope.spawn(|| mount::run(root));
        let mut counts = instructions::check(root);
        counts += join(growth);
        counts += join(mounts)?;
        Ok(counts)
    })
}

/// What a thread returns, or its panic.
fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The tests that cargo knows, in all crates.
fn rust_tests(root: &Path) -> Outcome<Counts> {
    // Tests wait for about half of their time: for timers, for disks and for programs that they start.
    let threads = (2 * thread::available_parallelism().map_or(1, NonZero::get)).to_string();
    // What a test prints is shown also when it passes: that is how it says that it was skipped.
    let arguments =
        ["test", "--workspace", "--locked", "--no-fail-fast", "--", "--show-output", "--test-threads", &threads];
    let mut reader = LibTest::default();
    let is_success = command::stream(command::cargo(root, &arguments), |line| {
        if reader.take(line) {
            println!("{line}");
        }
    })?;
    let mut counts = reader.into_counts();
    if !is_success && counts.failed == 0 {
        // What does not compile, or dies, has no result line.
        counts.fail("FAILED: cargo test ended with an error that no test reported".to_owned());
    }
    Ok(counts)
}
