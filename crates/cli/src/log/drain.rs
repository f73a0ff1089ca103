use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use fs_host::HostFs;
use stable::{FileDevice, LogSite, Options, UnreadableLog, WriteLog, WriteLogError};
use vfs::{FileSystem, counted, listed, quoted};

use super::replay::{Claims, Site, lock, server_of};
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
    /// With --discard: another directory that depends on this log, or of another server that has changes in it, as the
    /// message names it. Can be repeated.
    #[arg(long = "export", value_name = "DIR", requires = "discard")]
    exports: Vec<PathBuf>,
}

/// Empties the log.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    if !flags.discard {
        return flags.site.empty(false);
    }
    let (path, state_dir) = (flags.site.path(), flags.site.state_dir()?);
    let is_there = path.exists();
    let not_needed = || Failure::NoLogToDiscard { path: path.to_owned(), state_dir: state_dir.clone() };
    if !is_there && flags.exports.is_empty() && stable::exports_of_log(path, &state_dir)?.is_empty() {
        return Err(not_needed());
    }
    let _lock = lock(&state_dir)?;
    // Nothing is dropped if a directory is named wrongly, or in use.
    let dirs = claim_all(flags, &state_dir)?;
    let mut output = Output::new();
    if is_there {
        drop_changes(flags, &state_dir, &mut output)?;
    }
    let is_given_up = give_up(&dirs, &state_dir, &mut output)?;
    output.finish()?;
    if is_there || is_given_up { Ok(()) } else { Err(not_needed()) }
}

/// Drops what the log has, if it is of the server with this state directory or its directories are named.
fn drop_changes(flags: &Flags, state_dir: &Path, output: &mut Output) -> Result<(), Failure> {
    let device = Arc::new(FileDevice::open(flags.site.path())?);
    let opened = WriteLog::open(Arc::clone(&device) as _, Options::new(state_dir.to_owned()));
    match opened.and_then(|log| Ok((log.unnamed()?, log.kept()?, log))) {
        Ok((unnamed, kept, log)) => {
            let (kept, unchanged): (Vec<_>, Vec<_>) = kept.into_iter().partition(|(_, records)| *records > 0);
            let is_known = log.is_known()?;
            let server = || server_of(&log, kept.iter().map(|(dir, _)| dir));
            check_owner(flags, state_dir, (kept.iter().map(|(dir, _)| dir), is_known), server)?;
            log.discard()?;
            if kept.is_empty() && unnamed == 0 && !is_known {
                writeln!(output, "{}", had_no_changes(flags, state_dir, unchanged))?;
            }
            for (dir, records) in kept {
                writeln!(output, "dropped {} of {}", counted(records, "change", "changes"), quoted(dir))?;
            }
            if unnamed > 0 {
                writeln!(
                    output,
                    "dropped {} of directories that the log does not name",
                    counted(unnamed, "change", "changes")
                )?;
            }
            Ok(())
        }
        Err(error) => put_aside(flags, (device, state_dir), (error, output)),
    }
}

/// What to do with the directories of another server's log without changes.
fn had_no_changes(flags: &Flags, state_dir: &Path, dirs: Vec<(PathBuf, u64)>) -> String {
    let dirs: Vec<PathBuf> = dirs.into_iter().map(|(dir, _)| dir).filter(|dir| !flags.exports.contains(dir)).collect();
    if dirs.is_empty() {
        return "the log had no changes; name directories that still depend on it with --export DIR".to_owned();
    }
    let (listed, release) = (listed(&dirs), LogSite::new(flags.site.path(), Some(state_dir)).discard(&dirs));
    format!("the log had no changes; if {listed} cannot be served because of it, release them with {release}")
}

/// Refuses to drop what another server's log has of directories that are not named.
fn check_owner<'d>(
    flags: &Flags,
    state_dir: &Path,
    (dirs, is_known): (impl Iterator<Item = &'d PathBuf>, bool),
    server: impl FnOnce() -> Option<PathBuf>,
) -> Result<(), Failure> {
    let dirs: Vec<PathBuf> = dirs.filter(|dir| !flags.exports.contains(dir)).cloned().collect();
    if dirs.is_empty() || is_known {
        return Ok(());
    }
    let (path, state_dir) = (flags.site.path().to_owned(), state_dir.to_owned());
    Err(Failure::DiscardOfOtherState { path, state_dir, dirs, server: server() })
}

/// Puts a log out of the way that cannot be read because of an error, and shows what is lost.
fn put_aside(
    flags: &Flags,
    (device, state_dir): (Arc<FileDevice>, &Path),
    (error, output): (WriteLogError, &mut Output),
) -> Result<(), Failure> {
    let Some(log) = UnreadableLog::of(device, state_dir, &error)? else { return Err(error.into()) };
    let path = quoted(flags.site.path());
    match &log.exports {
        Some(dirs) => check_owner(flags, state_dir, (dirs.iter(), log.is_known), || None)?,
        // Nothing in the file says whose it is.
        None if stable::exports_of_log(flags.site.path(), state_dir)?.is_empty() => {
            if flags.exports.is_empty() {
                return Err(error.into());
            }
            return Ok(writeln!(output, "{path} {}, and is left as it is", log.flaw)?);
        }
        None => {}
    }
    writeln!(output, "dropped {}: the log {path} {}", lost(&log), log.flaw)?;
    match log.put_aside()? {
        Some(aside) => writeln!(output, "it is {} now: remove it when nobody needs it", quoted(aside))?,
        None => writeln!(output, "wipe the device before a server uses it: `blkdiscard -z {path}`")?,
    }
    Ok(())
}

/// What is lost with a log.
fn lost(log: &UnreadableLog) -> String {
    let Some(check) = &log.check else { return "an unknown number of changes".to_owned() };
    let damaged = if check.damages.is_empty() { "" } else { ", and an unknown number in its damaged parts" };
    format!("{} of {}{damaged}", counted(check.records, "change", "changes"), listed(log.exports.iter().flatten()))
}

/// A directory that no server can use until it is released.
struct Claimed {
    dir: PathBuf,
    /// Missing if the directory is gone.
    host: Option<Arc<HostFs>>,
    /// What it depends on, in messages.
    on: &'static str,
}

/// Keeps servers from the exports of the log and the named directories.
fn claim_all(flags: &Flags, state_dir: &Path) -> Result<Vec<Claimed>, Failure> {
    let (mut claims, mut claimed) = (Claims::default(), Vec::new());
    for dir in stable::exports_of_log(flags.site.path(), state_dir)? {
        let host = match claims.open(&dir, state_dir) {
            Err(failure @ Failure::WriteLog(WriteLogError::InUse { .. })) => return Err(failure),
            host => host.ok(),
        };
        claimed.push(Claimed { dir, host, on: "the log" });
    }
    for dir in &flags.exports {
        claimed.push(Claimed { dir: dir.clone(), host: Some(claims.open(dir, state_dir)?), on: "a log" });
    }
    Ok(claimed)
}

/// Lets directories be served without the log. Returns whether any had depended on it.
fn give_up(dirs: &[Claimed], state_dir: &Path, output: &mut Output) -> Result<bool, Failure> {
    let mut is_given_up = false;
    for Claimed { dir, host, on } in dirs {
        if stable::give_up_log(dir, host.as_deref().map(|host| host as &dyn FileSystem), state_dir)? {
            writeln!(output, "{} no longer depends on {on}", quoted(dir))?;
            is_given_up = true;
        }
    }
    Ok(is_given_up)
}
