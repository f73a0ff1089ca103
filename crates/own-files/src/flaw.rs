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

/// An older copy would be worse than none: it names clients, replies and logs of before.
const PUT_BACK: &str = "put the file back as the last server left it";

/// A kind of file in a state directory.
#[derive(Debug, Clone, Copy)]
pub struct FileKind {
    /// Its name.
    pub name: &'static str,
    /// What its loss means.
    pub loss: &'static str,
    /// What to do, as an imperative, if it cannot be put back.
    pub otherwise: &'static str,
}

impl FileKind {
    /// The file of the directory `dir` is lost, or what it has, and the server goes on without it.
    #[must_use]
    pub fn lost(&self, dir: &Path, wrong: impl Into<String>) -> Flaw {
        self.flaw(dir, wrong, &format!("stop the server, {PUT_BACK} and start again; or"))
    }

    /// The file of the directory `dir` is damaged, and the server does not start with it.
    #[must_use]
    pub fn refused(&self, dir: &Path, wrong: impl Into<String>) -> Flaw {
        self.flaw(dir, wrong, &format!("{PUT_BACK}; or move it elsewhere, and"))
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
