//! What files are called in messages of a replay.

use std::ops::ControlFlow;

use vfs::{Detail, DirEntry, Handle, Listing, ReadDir};

use super::CX;
use super::plan::OuterName;
use super::site::Site;
use crate::hex::hex;

/// The most directories above one another.
const MAX_DEPTH: usize = 256;

impl Site<'_> {
    /// The path of a file below the export, as far as the log has it.
    pub(super) fn path_of(&self, file: &Handle) -> String {
        let names = self.plan.names.iter();
        match names.clone().find(|(_, named)| named.as_ref() == Some(file)) {
            Some((name, _)) => self.path_of_name(name),
            None => self.dir_path(file).unwrap_or_else(|| self.number_of(file)),
        }
    }

    pub(super) fn path_of_name(&self, (dir, name): &OuterName) -> String {
        let mut path = name.escape_ascii().to_string();
        let (mut dir, root) = (*dir, self.fs().root());
        // Names in the log may lead in a circle.
        for _ in 0..self.plan.names.len() {
            if dir == root {
                return path;
            }
            let Some(((above, name), _)) = self.plan.names.iter().find(|(_, named)| **named == Some(dir)) else {
                break;
            };
            path = format!("{}/{path}", name.escape_ascii());
            dir = *above;
        }
        if dir == root {
            return path;
        }
        self.dir_path(&dir)
            .map_or_else(|| format!("({})/{path}", self.number_of(&dir)), |above| format!("{above}/{path}"))
    }

    /// The path of a directory whose name the log does not have, which is looked for once.
    fn dir_path(&self, dir: &Handle) -> Option<String> {
        if let Some(known) = self.dirs.borrow().get(dir) {
            return known.clone();
        }
        let path = self.found(dir).and_then(|inner| self.stored_path(inner));
        self.dirs.borrow_mut().insert(*dir, path.clone());
        path
    }

    fn stored_path(&self, mut dir: Handle) -> Option<String> {
        let mut names = Vec::new();
        for _ in 0..MAX_DEPTH {
            if dir == self.fs().root() {
                names.reverse();
                return Some(names.join("/"));
            }
            let above = self.fs().parent(&CX, &dir).ok()?.handle;
            names.push(self.name_in(&above, &dir)?);
            dir = above;
        }
        None
    }

    fn name_in(&self, above: &Handle, dir: &Handle) -> Option<String> {
        let fileid = self.fs().attributes(&CX, dir).ok()?.fileid;
        let (mut after, mut name) = (0, None);
        loop {
            let list = ReadDir { dir: above, after, detail: Detail::Names };
            let mut each = |entry: DirEntry<'_>| {
                after = entry.cookie;
                if entry.fileid != fileid {
                    return ControlFlow::Continue(());
                }
                name = Some(entry.name.escape_ascii().to_string());
                ControlFlow::Break(())
            };
            let listing = self.fs().read_dir(&CX, list, &mut each).ok()?;
            if name.is_some() || listing == Listing::Complete {
                return name;
            }
        }
    }

    fn number_of(&self, file: &Handle) -> String {
        let inner = self.found(file);
        let attributes = inner.and_then(|inner| self.fs().attributes(&CX, &inner).ok());
        match attributes {
            Some(attributes) => format!("inode {}", attributes.fileid),
            None => format!("handle {}", hex(file.as_bytes())),
        }
    }
}
