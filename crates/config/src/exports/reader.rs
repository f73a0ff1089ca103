use std::path::Path;

use crate::{ConfigError, Origin, Position, Reason, Remark, RemarkKind};

/// A reason and its place.
pub(super) type Located = (Position, Reason);

/// The state while a file is read.
pub(super) struct Reader<'a> {
    path: &'a Path,
    pub(super) remarks: Vec<Remark>,
    mistakes: &'a mut Vec<ConfigError>,
}

impl<'a> Reader<'a> {
    /// Starts before the first line.
    pub(super) fn new(path: &'a Path, mistakes: &'a mut Vec<ConfigError>) -> Reader<'a> {
        Reader { path, remarks: Vec::new(), mistakes }
    }

    pub(super) fn origin(&self, position: Position) -> Origin {
        Origin::file(self.path, position)
    }

    /// How many mistakes there are so far.
    pub(super) fn mistakes(&self) -> usize {
        self.mistakes.len()
    }

    /// What was read, or nothing after a mistake, which is kept.
    pub(super) fn note<T>(&mut self, read: Result<T, Located>) -> Option<T> {
        let mistake = |(position, reason)| ConfigError::at(Origin::file(self.path, position), reason);
        read.map_err(|located| self.mistakes.push(mistake(located))).ok()
    }

    pub(super) fn remark(&mut self, position: Position, kind: RemarkKind) {
        self.remarks.push(Remark { origin: self.origin(position), kind });
    }
}
