//! The export and the intermediate results of a replay.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use vfs::{
    Attributes, Detail, DirEntry, Entry, Error, FileKind, FileSystem, Handle, Listing, Name, OpenFile, OpenMode, Place,
    ReadDir,
};

use super::plan::{OuterName, Plan};
use super::{CX, Replayed};
use crate::aliases::Outer;
use crate::error::WriteLogError;
use crate::layer::{LoggedExport, now_ns};
use crate::record::RecordTime;
use crate::state_file::StateFile;
use crate::state_line::StateLine;

/// The maximum number of open files.
const MAX_OPEN_FILES: usize = 64;

pub(super) struct Site<'s> {
    pub(super) export: &'s LoggedExport,
    pub(super) state_file: &'s StateFile,
    pub(super) plan: Plan,
    /// The inner handles of the plan's files; missing files have none.
    found: HashMap<Handle, Handle>,
    /// What the replay found of files.
    before: HashMap<Handle, Attributes>,
    open: HashMap<(Handle, OpenMode), Arc<dyn OpenFile>>,
    /// Files that were made again.
    pub(super) made: HashSet<Handle>,
    /// Files whose data were evicted from memory.
    pub(super) evicted: HashSet<Handle>,
    /// Files that could neither be found nor made.
    pub(super) unmade: HashSet<Handle>,
    /// Files of which data were set aside, and what they are called.
    pub(super) set_aside: HashMap<Handle, String>,
    /// The paths of directories whose names the log does not have, as far as they were found.
    pub(super) dirs: RefCell<HashMap<Handle, Option<String>>>,
    /// Distinguishes temporary names from those of an interrupted replay.
    nonce: u64,
    next_number: u64,
    pub(super) replayed: Replayed,
}

impl<'s> Site<'s> {
    pub(super) fn new(export: &'s LoggedExport, state_file: &'s StateFile, plan: Plan) -> Site<'s> {
        let replayed = Replayed { records: plan.records(), ..Replayed::default() };
        let (found, before, open) = (HashMap::new(), HashMap::new(), HashMap::new());
        let nonce = getrandom::u64().unwrap_or_else(|_| now_ns());
        let (made, evicted, unmade, set_aside) = (HashSet::new(), HashSet::new(), HashSet::new(), HashMap::new());
        Site {
            export,
            state_file,
            plan,
            found,
            before,
            open,
            made,
            evicted,
            unmade,
            set_aside,
            dirs: RefCell::default(),
            nonce,
            next_number: 0,
            replayed,
        }
    }

    pub(super) fn fs(&self) -> &'s dyn FileSystem {
        &*self.export.inner
    }

    /// Finds the existing files of the plan. This comes before recreating any, because a new file may get the handle of
    /// a lost one.
    pub(super) fn find_files(&mut self) -> Result<(), WriteLogError> {
        for (file, planned) in &self.plan.files {
            let Ok(inner) = self.export.aliases.inner_of(file) else { continue };
            match self.tried("look for a file", self.fs().attributes(&CX, &inner))? {
                Ok(attributes) if planned.may_be(&attributes, self.export.aliases.has(file)) => {
                    self.found.insert(*file, inner);
                    self.before.insert(*file, attributes);
                }
                // The file system has given the handle of a lost file to another one.
                Ok(_) => {}
                Err(Error::Stale | Error::BadHandle | Error::NoEntry) => {}
                // It may be there all the same.
                Err(_) => {
                    self.unmade.insert(*file);
                }
            }
        }
        Ok(())
    }

    /// Returns the inner handle of a file, if it exists.
    pub(super) fn found(&self, file: &Handle) -> Option<Handle> {
        self.found.get(file).copied()
    }

    /// What the replay found of a file.
    pub(super) fn before(&self, file: &Handle) -> Option<Attributes> {
        self.before.get(file).copied()
    }

    /// Notes what the replay found of a file.
    pub(super) fn note_before(&mut self, file: Handle, attributes: Attributes) {
        self.before.insert(file, attributes);
    }

    /// Notes what storage had when the machine lost its memory. A later ctime is of a change from after that, which
    /// says nothing of what was lost.
    pub(super) fn note_stored(&mut self) {
        let Some(memory) = self.fs().memory() else { return };
        let is_from_before =
            |file: &Handle, before: &Attributes| before.changed < memory.since && !self.made.contains(file);
        for (file, before) in self.before.iter().filter(|(file, before)| is_from_before(file, before)) {
            self.plan.planned(file).note_stored(before);
        }
    }

    /// When a directory was modified before the replay.
    pub(super) fn modified_before(&self, file: &Handle) -> Option<RecordTime> {
        self.before(file).filter(|before| before.kind == FileKind::Directory).map(|before| before.modified.into())
    }

    /// Records that the file with this inner handle is gone.
    pub(super) fn forget(&mut self, inner: &Handle) {
        self.found.retain(|_, found| found != inner);
    }

    /// Gives files of the plan these inner handles, also after a crash.
    pub(super) fn adopt(&mut self, files: &[(Handle, Handle)]) -> Result<(), WriteLogError> {
        self.reserve(files)?;
        self.found.extend(files.iter().copied());
        Ok(())
    }

    /// Stores aliases, also for after a crash.
    pub(super) fn reserve(&self, files: &[(Handle, Handle)]) -> Result<(), WriteLogError> {
        if files.is_empty() {
            return Ok(());
        }
        let line = |(outer, inner): &(Handle, Handle)| StateLine::Alias {
            export: self.export.name.clone(),
            outer: *outer,
            inner: *inner,
        };
        let lines: Vec<StateLine> = files.iter().map(line).collect();
        self.state_file.keep(&lines)?;
        for (outer, inner) in files {
            self.export.aliases.insert(*outer, *inner);
        }
        Ok(())
    }

    /// Returns the file of the plan that `entry` is.
    pub(super) fn known(&self, entry: &Entry) -> Option<Handle> {
        match self.export.aliases.outer_of(&entry.handle) {
            Outer::Known(outer) => self.plan.files.contains_key(&outer).then_some(outer),
            Outer::Free(_) => None,
        }
    }

    /// Looks up a name in a directory of the plan.
    pub(super) fn look_up(&self, outer_name: &OuterName) -> Result<Option<Entry>, WriteLogError> {
        self.found(&outer_name.0).map_or(Ok(None), |dir| self.look_up_in(&dir, &outer_name.1))
    }

    /// Looks up a name in a directory with this inner handle.
    fn look_up_in(&self, dir: &Handle, name: &[u8]) -> Result<Option<Entry>, WriteLogError> {
        match self.fs().lookup(&CX, Place { dir: *dir, name: name_of(name)? }) {
            Ok(entry) => Ok(Some(entry)),
            Err(Error::NoEntry) => Ok(None),
            // When the name is given to a file, the same error shows.
            failed => self.tried("look up a name", failed).map(Result::ok),
        }
    }

    /// Returns the files in a directory with this inner handle whose names are `wanted`.
    pub(super) fn entries(
        &self,
        dir: &Handle,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<(Vec<u8>, Entry)>, WriteLogError> {
        let mut names = Vec::new();
        let mut after = 0;
        loop {
            let mut last = after;
            let mut each = |entry: DirEntry<'_>| {
                last = entry.cookie;
                if wanted(entry.name) {
                    names.push(entry.name.to_vec());
                }
                ControlFlow::Continue(())
            };
            match self.fs().read_dir(&CX, ReadDir { dir, after, detail: Detail::Names }, &mut each) {
                Ok(Listing::Complete) => break,
                Ok(Listing::Stopped) => after = last,
                failed => return self.tried("list a directory", failed).map(|_| Vec::new()),
            }
        }
        let entries = names.into_iter().map(|name| Ok((name.clone(), self.look_up_in(dir, &name)?)));
        let found = |entry: Result<(_, Option<Entry>), _>| entry.map(|(name, entry)| Some((name, entry?))).transpose();
        entries.filter_map(found).collect()
    }

    /// A place in an existing directory.
    pub(super) fn place<'p>(&self, outer_name: &'p OuterName) -> Result<Place<'p>, WriteLogError> {
        let dir = self.found(&outer_name.0).ok_or_else(|| self.error("find a directory", Error::Stale))?;
        Ok(Place { dir, name: name_of(&outer_name.1)? })
    }

    /// Renames, or returns why the file system refuses.
    pub(super) fn rename(&self, from: &OuterName, to: &OuterName) -> Result<Result<(), Error>, WriteLogError> {
        let what = format!("rename {} to {}", from.1.escape_ascii(), to.1.escape_ascii());
        self.tried(&what, self.fs().rename(&CX, self.place(from)?, self.place(to)?))
    }

    /// The kind of the file with this inner handle.
    pub(super) fn kind(&self, inner: &Handle) -> Option<FileKind> {
        self.fs().attributes(&CX, inner).ok().map(|attributes| attributes.kind)
    }

    /// Opens a file with this inner handle.
    pub(super) fn open(&mut self, file: &Handle, inner: &Handle, mode: OpenMode) -> vfs::Result<Arc<dyn OpenFile>> {
        if let Some(open) = self.open.get(&(*file, mode)) {
            return Ok(Arc::clone(open));
        }
        if self.open.len() >= MAX_OPEN_FILES {
            self.open.clear();
        }
        let open = self.fs().open(&CX, inner, mode)?;
        self.open.insert((*file, mode), Arc::clone(&open));
        Ok(open)
    }

    /// Returns an unused temporary name.
    pub(super) fn temporary(&mut self, prefix: &str) -> Vec<u8> {
        self.next_number += 1;
        format!("{prefix}{:016x}-{}", self.nonce, self.next_number).into_bytes()
    }

    pub(super) fn error(&self, action: &str, source: Error) -> WriteLogError {
        WriteLogError::Replay { export: self.export.name.clone(), action: action.to_owned(), source }
    }
}

fn name_of(bytes: &[u8]) -> Result<Name<'_>, WriteLogError> {
    // Names in records were valid when they were recorded.
    Name::new(bytes).map_err(|_| WriteLogError::NotAWriteLog)
}
