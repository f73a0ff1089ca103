//! Commands of `wharf log` in messages, which work as pasted.

use std::path::{Path, PathBuf};

use vfs::quoted;

use crate::mark::absolute;

/// A write log and the state directory of its server, of which messages name commands. A command has the state
/// directory even if it is the default one: that depends on the user who runs the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSite {
    /// The log's absolute path.
    pub path: PathBuf,
    state_dir: Option<PathBuf>,
}

impl LogSite {
    /// The site of the log at `path`.
    #[must_use]
    pub fn new(path: &Path, state_dir: Option<&Path>) -> LogSite {
        LogSite { path: absolute(path), state_dir: state_dir.map(absolute) }
    }

    /// The command that brings the log's changes to storage.
    #[must_use]
    pub fn drain(&self) -> String {
        self.command("drain", &[])
    }

    /// The command that drops the log's changes, also of these exports if they are another server's.
    #[must_use]
    pub fn discard(&self, exports: &[PathBuf]) -> String {
        self.command("drain --discard", exports)
    }

    /// The command that makes the exports of the log depend on it.
    #[must_use]
    pub fn adopt(&self) -> String {
        self.command("adopt", &[])
    }

    /// The command that replays the log.
    #[must_use]
    pub fn replay(&self) -> String {
        self.command("replay", &[])
    }

    /// The command that names all damage of the log.
    #[must_use]
    pub fn check(path: &Path) -> String {
        LogSite::new(path, None).command("check", &[])
    }

    fn command(&self, action: &str, exports: &[PathBuf]) -> String {
        let state_dir = self.state_dir.iter().map(|dir| format!(" --state-dir {}", quoted(dir)));
        let exports = exports.iter().map(|export| format!(" --export {}", quoted(export)));
        let options: String = state_dir.chain(exports).collect();
        format!("`wharf log {action} {}{options}`", quoted(&self.path))
    }
}
