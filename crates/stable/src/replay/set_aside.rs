//! Changes that a replay cannot make: each is reported, and kept in a file of the state directory.

use vfs::{Error, Handle, counted, quoted};

use super::plan::OuterName;
use super::site::Site;
use crate::error::WriteLogError;
use crate::set_aside_file::SetAside;

/// A change that is not made.
#[derive(Default)]
pub(super) struct Unmade<'u> {
    /// The change, as in "write 5 bytes at offset 0".
    pub(super) change: String,
    pub(super) file: Option<Handle>,
    /// The name that the change is of.
    pub(super) name: Option<&'u OuterName>,
    /// The path under which the file is kept that does not get or lose a name.
    pub(super) kept_as: Option<&'u str>,
    /// The record's data.
    pub(super) data: &'u [u8],
}

impl<'u> Unmade<'u> {
    /// Bytes of a file that those of the log replace.
    pub(super) fn replaced(file: Handle, offset_bytes: u64, data: &'u [u8]) -> Unmade<'u> {
        Unmade::of_bytes("keep", file, (offset_bytes, data))
    }

    /// Bytes of a file that are not written.
    pub(super) fn write(file: Handle, offset_bytes: u64, data: &'u [u8]) -> Unmade<'u> {
        Unmade::of_bytes("write", file, (offset_bytes, data))
    }

    fn of_bytes(verb: &str, file: Handle, (offset_bytes, data): (u64, &'u [u8])) -> Unmade<'u> {
        let change = format!("{verb} {} at offset {offset_bytes}", counted(data.len() as u64, "byte", "bytes"));
        Unmade { change, file: Some(file), data, ..Unmade::default() }
    }
}

/// Why a change is not made.
pub(super) enum Reason {
    /// The file system refuses it.
    Refused(Error),
    /// Its file could not be found or made either.
    NoFile,
    /// Its file is gone, and the log does not have how it was made.
    Gone,
    /// Another program has changed the name or moved the file since.
    OthersChange,
    /// Its file was changed after the log's last record of it.
    LaterChange,
    /// The log has other bytes of a file that was not changed after its last record.
    Replaced,
    /// The file may have another user's content since the log's record of its set-id bits.
    SetId {
        /// The command that sets them.
        command: String,
    },
}

impl Reason {
    fn text(&self) -> String {
        match self {
            Reason::Refused(error) => error.to_string(),
            Reason::NoFile => "its file or directory could not be made".to_owned(),
            Reason::Gone => {
                "another program has removed the file, or had made it and not brought it to storage".to_owned()
            }
            Reason::OthersChange => "another program has changed the name or moved the file".to_owned(),
            Reason::LaterChange => "the file was changed after the log's last record of it".to_owned(),
            Reason::Replaced => "data of the log replaced these bytes".to_owned(),
            Reason::SetId { .. } => {
                "the file was changed after the log's record of these bits, perhaps by another user".to_owned()
            }
        }
    }

    /// What an operator can do. The file may be kept under another name.
    fn remedy(&self, is_kept: bool) -> String {
        let remedy = match self {
            Reason::Refused(Error::NotPermitted | Error::AccessDenied) => {
                "let the server change the file (run it as root; chattr -ia if the file or its directory is immutable), \
                 then make the change by hand"
            }
            Reason::Refused(Error::NameTooLong) => "choose a shorter name, and make the change by hand",
            Reason::Refused(Error::Busy) => "end the programs that use the file, and make the change by hand",
            Reason::Refused(_) => "make the change by hand where the file system allows it, if it is still wanted",
            Reason::NoFile => "repair the change of its file or directory first, then make this one by hand",
            Reason::Gone => "make the file again if it is still wanted, and make the change by hand",
            Reason::SetId { command } => {
                return format!("look at the file's content; if it may run with these rights, run {command}");
            }
            Reason::OthersChange if is_kept => {
                "compare the kept file with what has its name now, and move it to where it belongs, or remove it"
            }
            Reason::OthersChange => "compare the names, and make the change by hand if it is still wanted",
            Reason::Replaced => "compare the file's bytes with these, and write them by hand if a program wrote them",
            Reason::LaterChange => {
                "compare the file's bytes with these: they are older ones if a program or an unanswered request has \
                 written over them; if the disk lost them, write them by hand"
            }
        };
        remedy.to_owned()
    }
}

/// Whether storage or the machine has failed, so that a later replay may succeed. Other errors are the change's own.
fn is_of_storage(error: &Error) -> bool {
    matches!(
        error,
        Error::Io(_) | Error::NoSpace | Error::Quota | Error::ReadOnly | Error::TryLater(_) | Error::WouldBlock
    )
}

impl Site<'_> {
    /// Passes on a failure of storage, which ends the replay until the next start. Returns other errors to the caller,
    /// who sets the change aside.
    pub(super) fn tried<T>(&self, action: &str, done: vfs::Result<T>) -> Result<Result<T, Error>, WriteLogError> {
        match done {
            Err(source) if is_of_storage(&source) => Err(self.error(action, source)),
            done => Ok(done),
        }
    }

    /// Sets a change aside if it was refused; `None` then.
    pub(super) fn unless_refused<T>(
        &mut self,
        unmade: Unmade<'_>,
        done: vfs::Result<T>,
    ) -> Result<Option<T>, WriteLogError> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(source) if is_of_storage(&source) => {
                let action = format!("{}: {}", self.subject(&unmade), unmade.change);
                Err(self.error(&action, source))
            }
            Err(error) => self.set_aside(unmade, &Reason::Refused(error)).map(|()| None),
        }
    }

    /// Keeps a change that is not made, and reports it.
    pub(super) fn set_aside(&mut self, unmade: Unmade<'_>, reason: &Reason) -> Result<(), WriteLogError> {
        self.replayed.set_aside += 1;
        // One warning is enough for all data of a file.
        let is_known = unmade.file.is_some_and(|file| self.set_aside.contains_key(&file));
        let is_told = is_known && matches!(reason, Reason::LaterChange | Reason::Replaced | Reason::Gone);
        let file = self.subject(&unmade);
        let Unmade { change, kept_as, data, .. } = unmade;
        let (export, data_bytes) = (quoted(&self.export.name), data.len() as u64);
        let (why, remedy, kept_as) = (reason.text(), reason.remedy(kept_as.is_some()), kept_as.map(str::to_owned));
        let change = SetAside { export, file, change, kept_as, reason: why, remedy, data_bytes };
        let kept_in = self.state_file.set_aside(&change.text(data))?;
        if !is_told {
            let SetAside { export, file, change, kept_as, reason: why, remedy, .. } = change;
            tracing::warn!(
                %export, file, change, kept_as, why, remedy, kept_in = %quoted(kept_in),
                "set a change of the write log aside"
            );
        }
        Ok(())
    }

    /// The path of what a change is of.
    fn subject(&mut self, unmade: &Unmade<'_>) -> String {
        match (unmade.name, unmade.file) {
            (Some(name), _) => self.path_of_name(name),
            (None, Some(file)) => self.path_of_data(&file),
            (None, None) => "unknown".to_owned(),
        }
    }

    /// The path of a file, which is looked for once: there may be many records of it.
    fn path_of_data(&mut self, file: &Handle) -> String {
        if let Some(path) = self.set_aside.get(file) {
            return path.clone();
        }
        let path = self.path_of(file);
        self.set_aside.insert(*file, path.clone());
        path
    }
}
