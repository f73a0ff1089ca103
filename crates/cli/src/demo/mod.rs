//! `wharf demo`: everything once, on real input, in less than a minute, and nothing left behind.

mod compare;
mod script;
mod stage;
mod tree;

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::oneshot;

use crate::failure::Failure;
use script::Script;
use stage::Stage;

/// Serve a temporary directory, copy trees in and out, verify every byte, and measure.
#[derive(Debug, Args)]
pub struct Flags {
    /// Go on serving until Ctrl-C, so that the export can be mounted by hand.
    #[arg(long)]
    wait: bool,
}

/// Shows it, and cleans up, whatever happens.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let interrupted = interruption()?;
    let stage = Stage::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::System { action: "start the client's runtime", source })?;
    let result = runtime.block_on(async {
        let script = Script::start(&stage)?;
        tokio::select! {
            result = script.play(flags.wait) => result,
            // The sender lives as long as the thread that waits for signals, which has no other end.
            _ = interrupted => if script.is_over() { Ok(()) } else { Err(Failure::Interrupted) },
        }
    });
    // A benchmark that was interrupted goes on in its thread until the process ends, which is now.
    runtime.shutdown_background();
    stage.clean_up()?;
    println!("\nThe server has ended, and its temporary directory is removed.");
    result
}

/// What hears of the first Ctrl-C.
fn interruption() -> Result<oneshot::Receiver<()>, Failure> {
    let failed = |source| Failure::System { action: "receive signals", source };
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let (sender, receiver) = oneshot::channel();
    let wait = move || {
        signals.forever().next();
        // The demonstration may have ended by itself meanwhile.
        sender.send(()).ok()
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(receiver)
}
