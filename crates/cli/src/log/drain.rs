use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use vfs::FileSystem;

use super::replay::{Site, open_dir};
use crate::failure::Failure;
use crate::output::Output;

/// Flush all changes in a write log to storage and empty it, so that the server can run without it.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(flatten)]
    site: Site,
    /// Drop the changes instead, and print how many were lost per export. The log may be missing.
    #[arg(long)]
    discard: bool,
    /// With --discard: another directory that depends on this log, as the server's message names it. Can be repeated.
    #[arg(long = "export", value_name = "DIR", requires = "discard")]
    exports: Vec<PathBuf>,
}

/// Empties the log.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    if !flags.discard {
        return flags.site.empty(false);
    }
    let mut output = Output::new();
    if flags.site.path().exists() {
        let site = flags.site.open(false)?;
        let (kept, unnamed) = (site.log.kept()?, site.log.unnamed()?);
        site.log.discard()?;
        for (dir, records) in kept.into_iter().filter(|(_, records)| *records > 0) {
            writeln!(output, "dropped {records} changes of {dir}")?;
        }
        if unnamed > 0 {
            writeln!(output, "dropped {unnamed} changes of directories that the log does not name")?;
        }
    }
    give_up(flags, &mut output)?;
    Ok(output.finish()?)
}

/// Lets the exports that depend on the log be served without it.
fn give_up(flags: &Flags, output: &mut Output) -> Result<(), Failure> {
    let state_dir = flags.site.state_dir()?;
    for dir in stable::exports_of_log(flags.site.path(), &state_dir)? {
        // The directory may be gone.
        let host = open_dir(Path::new(&dir), &state_dir).ok();
        let host = host.as_deref().map(|host| host as &dyn FileSystem);
        stable::give_up_log(&dir, host, &state_dir)?;
        writeln!(output, "{dir} no longer depends on the log")?;
    }
    for dir in &flags.exports {
        let host = open_dir(dir, &state_dir)?;
        if stable::give_up_log(&dir.to_string_lossy(), Some(&*host), &state_dir)? {
            writeln!(output, "{} no longer depends on a log", dir.display())?;
        }
    }
    Ok(())
}
