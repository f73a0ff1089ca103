use std::io::Write;

use clap::Args;
use vfs::{counted, quoted};

use super::replay::{Claims, Site};
use crate::failure::Failure;
use crate::output::Output;

/// Make a write log the one that its exports depend on, so that the next start replays it.
///
/// A server refuses a log that is not the newest one of an export: another server's, an old copy, or one whose export
/// was served without it. Its changes may be older than the files and then replace them.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(flatten)]
    site: Site,
}

/// Adopts the log.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let site = flags.site.open(false)?;
    site.log.check_named()?;
    let mut output = Output::new();
    let mut claims = Claims::default();
    let mut claimed = Vec::new();
    for (dir, records) in site.log.kept()? {
        match claims.open(&dir, &site.state_dir) {
            Ok(host) => claimed.push((host, dir)),
            Err(failure) if records > 0 => return Err(failure),
            // It may be gone or in use, and the log has nothing of it.
            Err(_) => {}
        }
    }
    for (host, dir) in claimed {
        if let Some(records) = site.log.adopt(&dir, host)? {
            writeln!(output, "the next start replays {} of {}", counted(records, "change", "changes"), quoted(dir))?;
        }
    }
    Ok(output.finish()?)
}
