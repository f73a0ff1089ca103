//! `wharf serve`: reads what to serve, serves it, and reads it again when told.

mod backends;
mod check;
mod descriptors;
mod flags;
mod host_names;
pub mod how_to_mount;
mod limit_flags;
mod logging;
mod memory;
mod offer;
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

use rustix::process::{Signal, parent_process_death_signal, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
pub use backends::{BackendOptions, Backends};
pub use flags::Flags;
pub use privilege::Privilege;
use serving::Serving;
pub use write_log::tell as tell_replayed;

/// Serves until it is told to end.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    // From here on a signal waits until it is looked at, and never ends the process halfway.
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2])
        .map_err(|source| Failure::System { action: "receive signals", source })?;
    let privilege = Privilege::of_this_process();
    let base = env::current_dir().map_err(|source| Failure::System { action: "find the current directory", source })?;
    let sources = flags.sources(base, privilege.defaults());
    if flags.is_check() {
        return check::run(flags, &sources);
    }
    let loaded = config::load(&sources)?;
    logging::start(flags.settings().or(loaded.settings.clone()).log);
    privilege.log();
    let budget = descriptors::raise_limit();
    let wish = parent_process_death_signal();
    let serving = Serving::start((flags, budget), sources, loaded)?;
    keep_death_signal(wish);
    serving.until_told(signals);
    Ok(())
}

/// Whoever started the server may want it to end with them (PR_SET_PDEATHSIG). The kernel forgets that when this thread has acted as
/// somebody else, as it does while exports are made ready.
fn keep_death_signal(wish: rustix::io::Result<Option<Signal>>) {
    if let Ok(Some(signal)) = wish {
        // Without it the server outlives them, as it would have anyway.
        let _ = set_parent_process_death_signal(Some(signal));
    }
}
