use std::path::Path;

use crate::{ConfigError, Origin, Position, Reason, Remark, RemarkKind};

/// A reason and its place.
pub(super) type Located = (Position, Reason);

/// The state while a file is read.
pub(super) struct Reader<'a> {
    path: &'a Path,
    pub(super) remarks: Vec<Remark>,
}

impl<'a> Reader<'a> {
    /// Starts before the first line.
    pub(super) fn new(path: &'a Path) -> Reader<'a> {
        Reader { path, remarks: Vec::new() }
    }

    pub(super) fn origin(&self, position: Position) -> Origin {
        Origin::file(self.path, position)
    }

    pub(super) fn error(&self, (position, reason): Located) -> ConfigError {
        ConfigError::at(self.origin(position), reason)
    }

    pub(super) fn remark(&mut self, position: Position, kind: RemarkKind) {
        self.remarks.push(Remark { origin: self.origin(position), kind });
    }
}
