//! What a missing or damaged file of the server's own tells the administrator.

use std::path::{Path, PathBuf};

/// A file that is missing or damaged: what is wrong, what that means, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} {wrong}: {means}; {remedy}", path = path.display())]
pub struct Flaw {
    /// The file.
    pub path: PathBuf,
    /// Such as "is missing".
    pub wrong: String,
    /// The consequence.
    pub means: String,
    /// What to do.
    pub remedy: String,
}

/// A kind of file in a state directory.
#[derive(Debug, Clone, Copy)]
pub struct FileKind {
    /// Its name.
    pub name: &'static str,
    /// What its loss means.
    pub loss: &'static str,
    /// What to do, as an imperative, if it cannot be restored.
    pub otherwise: &'static str,
}

impl FileKind {
    /// The file of the directory `dir` is lost, or what it has, and the server goes on without it.
    #[must_use]
    pub fn lost(&self, dir: &Path, wrong: impl Into<String>) -> Flaw {
        let remedy = "stop the server, restore it from a backup and start again; or, without a backup,";
        self.flaw(dir, wrong, remedy)
    }

    /// The file of the directory `dir` is damaged, and the server does not start with it.
    #[must_use]
    pub fn refused(&self, dir: &Path, wrong: impl Into<String>) -> Flaw {
        self.flaw(dir, wrong, "restore it from a backup; or remove it, and")
    }

    fn flaw(&self, dir: &Path, wrong: impl Into<String>, remedy: &str) -> Flaw {
        Flaw {
            path: dir.join(self.name),
            wrong: wrong.into(),
            means: self.loss.to_owned(),
            remedy: format!("{remedy} {}", self.otherwise),
        }
    }
}
