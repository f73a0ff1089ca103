//! `wharf demo`: shows server, client and benchmark on real files in less than a minute, and leaves nothing behind.

mod compare;
mod script;
mod stage;
mod tree;

use clap::Args;

use crate::failure::Failure;
use crate::interruption;
use crate::output::line;
use script::Script;
use stage::Stage;

/// Demonstrate Wharf: serve a temporary directory, copy trees in and out, verify every byte, and benchmark.
#[derive(Debug, Args)]
pub struct Flags {
    /// Keep serving until Ctrl-C, so that you can mount the export.
    #[arg(long)]
    wait: bool,
}

/// Runs the demonstration, and cleans up in any case.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let interrupted = interruption::listen()?;
    let stage = Stage::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::System { action: "start the client's runtime", source })?;
    let result = runtime.block_on(async {
        let script = Script::start(&stage)?;
        tokio::select! {
            result = script.play(flags.wait) => result,
            Ok(signal) = interrupted => match script.is_over() {
                true => Ok(()),
                false => Err(Failure::Interrupted { signal, left: "everything is cleaned up".to_owned() }),
            },
        }
    });
    // An interrupted benchmark runs on in its thread until the process ends, which is now.
    runtime.shutdown_background();
    stage.clean_up()?;
    line(format_args!("\nThe server has ended, and its temporary directory is removed.")).and(result)
}
