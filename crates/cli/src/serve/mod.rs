//! `wharf serve`: reads the configuration, serves it, and reloads it on SIGHUP.

mod backends;
mod check;
mod descriptors;
mod flags;
mod host_names;
pub mod how_to_mount;
mod limit_flags;
mod log_check;
mod logging;
mod memory;
mod occupied;
mod offer;
mod plan;
mod privilege;
mod remote_overlap;
mod remote_servers;
mod remotes;
mod reply_flags;
mod service_manager;
mod serving;
mod start;
mod storage_flags;
mod summary;
mod write_log;
mod write_log_flags;

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Signal, parent_process_death_signal, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::failure::Failure;
pub use backends::{BackendOptions, Backends};
pub use flags::Flags;
pub use logging::start as start_logging;
pub use occupied::explained;
use plan::Plan;
pub use privilege::Privilege;
use serving::Serving;
pub use write_log::{attach as attach_to_log, check_missing};

/// Serves until a signal ends it.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    flags.check_offer()?;
    // From here on signals are handled by the main loop. Until the server has started, which takes long if another
    // server does not answer or a write log is replayed, those that end a process still do.
    let is_starting = Arc::new(AtomicBool::new(true));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, Arc::clone(&is_starting))
            .map_err(|source| Failure::System { action: "receive signals", source })?;
    }
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2])
        .map_err(|source| Failure::System { action: "receive signals", source })?;
    let privilege = Privilege::of_this_process();
    let base = env::current_dir().map_err(|source| Failure::System { action: "find the current directory", source })?;
    let sources = flags.sources(base, privilege.defaults());
    let (loaded, mistakes) = config::load_what_can_be(&sources);
    let settings = flags.settings().or(loaded.settings.clone());
    logging::start(settings.log);
    let budget = descriptors::raise_limit();
    let plan = Plan::make(settings, (loaded, mistakes), &privilege, &budget)?;
    if flags.is_check() {
        return check::print(&plan, flags);
    }
    let wish = parent_process_death_signal();
    // Whoever is told that the server has started may end it at once.
    let started = || is_starting.store(false, Ordering::SeqCst);
    let serving = Serving::start(flags, budget, sources, plan, started).map_err(explained)?;
    privilege.log();
    keep_death_signal(wish);
    serving.until_told(signals)
}

/// Restores the signal that the server's parent may have requested for its own death (PR_SET_PDEATHSIG). The kernel
/// clears it when this thread acts as another user, as it does while exports are opened.
fn keep_death_signal(wish: rustix::io::Result<Option<Signal>>) {
    if let Ok(Some(signal)) = wish {
        // Without it the server survives its parent, which is acceptable.
        let _ = set_parent_process_death_signal(Some(signal));
    }
}
