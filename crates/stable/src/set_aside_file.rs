//! The file of changes that a replay did not make: text for operators, in the state directory.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::error::WriteLogError;
use crate::hex::hex;
use crate::state_file::{SET_ASIDE, existing};

/// A change that a replay did not make, as the file shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetAside {
    /// The export, quoted for the shell.
    pub export: String,
    /// The path below the export, or the inode.
    pub file: String,
    /// The change, as in "write 5 bytes at offset 0".
    pub change: String,
    /// The path below the export under which a file is kept that does not get or lose its name.
    pub kept_as: Option<String>,
    /// Why it was not made.
    pub reason: String,
    /// What an operator can do.
    pub remedy: String,
    /// How many bytes of data the file has of it.
    pub data_bytes: u64,
}

impl SetAside {
    /// The lines of a change with these data.
    pub(crate) fn text(&self, data: &[u8]) -> String {
        let SetAside { export, file, change, kept_as, reason, remedy, .. } = self;
        let kept_as = kept_as.as_ref().map(|path| format!("kept as: {path}\n")).unwrap_or_default();
        format!(
            "export: {export}\nfile: {file}\nchange: {change}\n{kept_as}reason: {reason}\nremedy: {remedy}\n\
             data in hex: {}\n\n",
            hex(data)
        )
    }

    /// Reads the changes of a file. A crash may have torn one of them, and an operator may have removed lines.
    fn read_all(file: impl BufRead) -> io::Result<Vec<SetAside>> {
        let mut changes = Vec::new();
        for line in file.split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            let Some((key, value)) = line.split_once(": ") else { continue };
            if key == "export" {
                changes.push(SetAside::default());
            }
            let Some(change) = changes.last_mut() else { continue };
            match key {
                "export" => change.export = value.to_owned(),
                "file" => change.file = value.to_owned(),
                "change" => change.change = value.to_owned(),
                "kept as" => change.kept_as = Some(value.to_owned()),
                "reason" => change.reason = value.to_owned(),
                "remedy" => change.remedy = value.to_owned(),
                "data in hex" => change.data_bytes = value.len() as u64 / 2,
                _ => {}
            }
        }
        Ok(changes)
    }
}

/// Where a state directory has the changes that replays did not make.
#[must_use]
pub fn set_aside_path(state_dir: &Path) -> PathBuf {
    state_dir.join(SET_ASIDE)
}

/// The changes that replays did not make, oldest first, as far as nobody has removed them from the state directory.
///
/// # Errors
/// When the state directory cannot be read.
pub fn changes_set_aside(state_dir: &Path) -> Result<Vec<SetAside>, WriteLogError> {
    let file = existing(state_dir).and_then(|dir| dir.map_or(Ok(None), |dir| dir.file_to_read(SET_ASIDE)));
    let read = file.and_then(|file| file.map_or(Ok(Vec::new()), |file| SetAside::read_all(BufReader::new(file))));
    read.map_err(|source| WriteLogError::State { path: set_aside_path(state_dir), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(file: &str, data_bytes: u64) -> SetAside {
        let text = |text: &str| text.to_owned();
        let (export, file, change) = (text("'/a b'"), text(file), text("rename x: y to z"));
        let (reason, remedy, kept_as) =
            (text("because: it is so"), text("none"), (data_bytes == 0).then(|| text("x/y")));
        SetAside { export, file, change, kept_as, reason, remedy, data_bytes }
    }

    #[test]
    fn all_changes_of_the_file_are_read_again_and_what_is_there_of_a_torn_one() {
        let (one, two) = (change("one", 3), change("two", 0));
        let text = one.text(b"abc") + &two.text(b"");
        assert_eq!(SetAside::read_all(text.as_bytes()).unwrap(), [one.clone(), two.clone()]);
        let torn = &text[..text.find("remedy: none\ndata in hex: \n").unwrap()];
        let torn_two = SetAside { remedy: String::new(), ..two };
        assert_eq!(SetAside::read_all(torn.as_bytes()).unwrap(), [one, torn_two]);
    }
}
