use std::io;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use own_files::{Flaw, NAME_ANOTHER, explained};
use vfs::{counted, listed, quoted};

use crate::log::LogError;
use crate::log_site::LogSite;

/// What to do when storage has failed. A file system whose disk has failed may take no change before it is mounted
/// again.
pub(crate) const REPAIR: &str =
    "repair the disk; unmount the file system, check it and mount it again; then start the server again";

/// Why a write log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WriteLogError {
    /// The log itself.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log was closed.
    #[error("the write log is closed")]
    Closed,
    /// The log is damaged, which its own error does not remedy.
    #[error("{source}, or give up its changes with {discard}", discard = site.discard(&[]))]
    Damaged {
        /// Where it is damaged.
        source: LogError,
        /// The log.
        site: LogSite,
    },
    /// There is something else than a log, or a part of one, and exports depend on it.
    #[error(
        "{source}; acknowledged changes of {exports} may be in it alone: if it cannot be restored, give them up with \
         {discard}",
        exports = listed(exports), discard = site.discard(&[])
    )]
    Unreadable {
        /// What is wrong with it.
        source: LogError,
        /// The exports.
        exports: Vec<PathBuf>,
        /// The log.
        site: LogSite,
    },
    /// The log belongs to another program.
    #[error("the log was not made by `wharf serve --write-log`; choose another path")]
    NotAWriteLog,
    /// The state directory cannot be used.
    #[error("cannot keep the write log's state in {}: {}", quoted(path), explained(source, NAME_ANOTHER))]
    State {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of the state directory is missing or damaged, so that the log cannot be used.
    #[error(transparent)]
    StateFile(#[from] Flaw),
    /// Another directory is exported under this name than when the records were written.
    #[error(
        "the write log {0} has {changes} of another directory that was exported as {export}; mount its file system \
         there if it is not mounted, or export that directory again, or drop all that the log has with {discard}",
        quoted(&site.path), changes = changes(*records), export = quoted(export), discard = site.discard(&[])
    )]
    OtherTree {
        /// The export.
        export: PathBuf,
        /// How many records there are.
        records: u64,
        /// The log.
        site: LogSite,
    },
    /// An export that has records cannot be written.
    #[error(
        "the write log {0} has {changes} of {export}, which is mounted read-only, so that they cannot be brought to \
         storage; if its disk has failed, repair it; mount it for writing, and start the server again",
        quoted(&site.path), changes = changes(*records), export = quoted(export)
    )]
    ReadOnly {
        /// The export.
        export: PathBuf,
        /// How many records there are.
        records: u64,
        /// The log.
        site: LogSite,
    },
    /// An export that has records is not served.
    #[error(
        "the write log {0} has {changes} of {export}, which is not exported now; {remedy}, or run {replay}, or drop all \
         that the log has with {discard}",
        quoted(&site.path), changes = changes(*records), export = quoted(export),
        remedy = export_it(export, exported_as.as_deref()), replay = site.replay(), discard = site.discard(&[])
    )]
    Missing {
        /// The export.
        export: PathBuf,
        /// The other path by which its directory is exported, if it is.
        exported_as: Option<PathBuf>,
        /// How many records there are.
        records: u64,
        /// The log.
        site: LogSite,
    },
    /// The log has records of exports that its header does not name.
    #[error(
        "the write log {0} has {changes} of directories that its header does not name, because a header is damaged or \
         old; restore the log from a copy, or drop all that the log has with {discard}",
        quoted(&site.path), changes = changes(*records), discard = site.discard(&[])
    )]
    Unnamed {
        /// How many records there are.
        records: u64,
        /// The log.
        site: LogSite,
    },
    /// An export is to be served without the log that it needs.
    #[error(
        "acknowledged changes of {export} may be in the write log {0} alone{told_by}; serve it with --write-log {0}, or move them \
         to storage with {drain}, or give them up with {discard}",
        quoted(&site.path), export = quoted(export), drain = site.drain(), discard = site.discard(from_ref(export))
    )]
    NeedsLog {
        /// The export.
        export: PathBuf,
        /// The log that it needs.
        site: LogSite,
        /// Who says so, if it is only the directory.
        told_by: String,
    },
    /// A log that exports need is missing.
    #[error(
        "the write log {} is missing, and acknowledged changes of {} may be in it alone; bring it back, or give them up \
         with {}",
        quoted(&site.path), listed(exports), site.discard(&[])
    )]
    MissingLog {
        /// The log that it needs.
        site: LogSite,
        /// The exports.
        exports: Vec<PathBuf>,
    },
    /// A new log is at the path of the one that an export needs.
    #[error(
        "the write log {0} is missing or has nothing but zeros, and acknowledged changes of {export} may have been in it \
         alone{told_by}; put the file back as the last server left it, or give the changes up with {discard}",
        quoted(&site.path), export = quoted(export), discard = site.discard(from_ref(export))
    )]
    BlankLog {
        /// The export.
        export: PathBuf,
        /// The log that it needs.
        site: LogSite,
        /// Who says so, if it is only the directory.
        told_by: String,
    },
    /// An export needs another log, or a newer copy of this one.
    #[error(
        "acknowledged changes of {export} may be in another write log alone, or in a newer copy of this one, which was \
         {0}{told_by}; serve the export with that log, or give them up with {discard}{remedy}",
        quoted(&site.path), export = quoted(export), discard = site.discard(from_ref(export))
    )]
    NeedsOtherLog {
        /// The export.
        export: PathBuf,
        /// The log that it needs.
        site: LogSite,
        /// How to use the log that was given, if it has something.
        remedy: String,
        /// Who says so, if it is only the directory.
        told_by: String,
    },
    /// Another server used the log last.
    #[error(
        "the write log {0}, which may have acknowledged changes of {dirs} alone, was used last by a server with another state \
         directory{1}; start that server, or bring the changes to storage with {drain}; if that state directory is lost, \
         and the log is no old copy, use it here with {adopt}; or drop the changes with {discard}",
        quoted(&site.path), in_brackets(server.as_ref()), dirs = listed(exports),
        drain = drain_of(site, server.as_deref()), adopt = site.adopt(), discard = site.discard(exports)
    )]
    OtherServers {
        /// The exports.
        exports: Vec<PathBuf>,
        /// The state directory of that server, if an export names it.
        server: Option<PathBuf>,
        /// The log.
        site: LogSite,
    },
    /// A log has records of an export that does not need it.
    #[error(
        "the write log has {changes} of {export}, which does not depend on it: it is an old copy, or another server's, \
         and the export may have newer data; drop what the log has with {discard}, or have it made all the same with \
         {adopt}",
        changes = changes(*records), export = quoted(export), discard = site.discard(from_ref(export)),
        adopt = site.adopt()
    )]
    NotOfExport {
        /// The export.
        export: PathBuf,
        /// How many records there are.
        records: u64,
        /// The log.
        site: LogSite,
    },
    /// Another process uses an export with a write log, or changes its mark.
    #[error("a running server uses {} with a write log, or another `wharf log` does; end it first", quoted(export))]
    InUse {
        /// The export.
        export: PathBuf,
    },
    /// The mark of an export cannot be read or stored.
    #[error("cannot read or store which write log {export} depends on: {source}", export = quoted(export))]
    Mark {
        /// The export.
        export: PathBuf,
        /// The error of the file system.
        source: vfs::Error,
    },
    /// A record is invalid.
    #[error("a record of the write log cannot be read ({source}); was it written by a later version?")]
    Record {
        /// What is wrong with it.
        source: xdr::Error,
    },
    /// A change cannot be replayed.
    #[error(
        "cannot make changes of {export} again from the write log: {action}: {source}; the log keeps \
         them: {remedy}",
        export = quoted(export), remedy = remedy(source)
    )]
    Replay {
        /// The export.
        export: PathBuf,
        /// What was tried.
        action: String,
        /// The error of the file system.
        source: vfs::Error,
    },
    /// Flushing an export's storage failed.
    #[error(
        "cannot bring {export} to storage: {source}; the log keeps its changes: {remedy}",
        export = quoted(export), remedy = remedy(source)
    )]
    Storage {
        /// The export.
        export: PathBuf,
        /// The error of the file system.
        source: vfs::Error,
    },
    /// Flushing an export's storage failed earlier, so that the log's records are required.
    #[error(
        "the storage of {export} has failed, and only the write log has what was lost: {REPAIR}, which makes these \
         changes again",
        export = quoted(export)
    )]
    Lost {
        /// The export.
        export: PathBuf,
    },
    /// No thread could be started.
    #[error("cannot start the thread that trims the write log: {0}")]
    Thread(io::Error),
}

/// What to do when storage refuses a change of the log.
fn remedy(source: &vfs::Error) -> &'static str {
    match source {
        vfs::Error::NoSpace | vfs::Error::Quota => "make room on the file system, and start the server again",
        _ => REPAIR,
    }
}

/// How to export what the log has changes of. Handles in the log may be valid at the path alone that the log knows.
fn export_it(export: &Path, exported_as: Option<&Path>) -> String {
    let Some(other) = exported_as else { return "export it".to_owned() };
    let (export, other) = (quoted(export), quoted(other));
    format!(
        "its directory is exported as {other}, and the log knows it as {export} alone: export it as {export} until the \
         log is empty (first run `mount --bind {other} {export}` if it is not there any more)"
    )
}

fn changes(records: u64) -> String {
    counted(records, "change", "changes")
}

fn in_brackets(dir: Option<&PathBuf>) -> String {
    dir.map(|dir| format!(" ({})", quoted(dir))).unwrap_or_default()
}

/// The command that brings the changes of another server's log to storage.
fn drain_of(site: &LogSite, server: Option<&Path>) -> String {
    match server {
        Some(_) => LogSite::new(&site.path, server).drain(),
        None => "wharf log drain and that --state-dir".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lack_of_room_is_remedied_without_a_repair_and_other_failures_with_a_new_mount() {
        let said = |source| WriteLogError::Storage { export: "/srv".into(), source }.to_string();
        let full = said(vfs::Error::NoSpace);
        assert!(full.contains("make room on the file system") && !full.contains("repair"), "{full}");
        for source in [vfs::Error::ReadOnly, vfs::Error::Io(io::ErrorKind::Other.into())] {
            assert!(said(source).ends_with(REPAIR));
        }
    }
}
