//! Changes by this client, and what they make invalid.

use client_calls::DirChange;

use super::Mount;
use crate::cache::{Asked, DirVersion, NameAt};
use crate::{Entry, Handle, Version};

/// A change by this client to some files or names.
///
/// On drop it invalidates every file and name of which nothing was learned: the reply did not tell, was lost, or the
/// caller was cancelled.
pub(crate) struct Change<'a, const N: usize> {
    mount: &'a Mount,
    asked: Asked,
    files: [Option<&'a Handle>; N],
    names: [Option<NameAt<'a>>; N],
}

impl Mount {
    /// Begins a call that changes these files.
    pub(crate) fn change<'a, const N: usize>(&'a self, files: [&'a Handle; N]) -> Change<'a, N> {
        Change { mount: self, asked: self.ask(), files: files.map(Some), names: [None; N] }
    }

    /// Begins a call that changes these names and their directories.
    pub(crate) fn change_names<'a, const N: usize>(&'a self, places: [(&'a Handle, &'a [u8]); N]) -> Change<'a, N> {
        let (files, names) = (places.map(|(dir, _)| Some(dir)), places.map(|(dir, name)| Some(NameAt { dir, name })));
        Change { mount: self, asked: self.ask(), files, names }
    }
}

impl<const N: usize> Change<'_, N> {
    /// Takes in a file's attributes from the reply; the file may be one of those changed.
    pub(crate) fn learn(&mut self, entry: &Entry) {
        for changed in self.files.iter_mut().filter(|file| **file == Some(&entry.handle)) {
            *changed = None;
        }
        self.mount.learn(self.asked, &entry.handle, &entry.attributes);
    }

    /// Takes in the change of the directory of the name at `index`, and the file that the name leads to now, if known.
    /// Returns the file it led to before, if known.
    fn learn_name(&mut self, index: usize, change: &DirChange, file: Option<Option<Handle>>) -> Option<Handle> {
        let place = self.names[index].take()?;
        let before = match self.mount.version() {
            Version::V2 => self.mount.replace_name(self.asked, place, file),
            _ => self.mount.outdate_name(place),
        };
        if before.is_some() && before != file.flatten() {
            before.iter().for_each(|file| self.mount.outdate(file));
        }
        let Some(attributes) = change.after else { return before };
        self.learn(&Entry { handle: *place.dir, attributes });
        let version = DirVersion::of(&attributes);
        if let Some(before) = change.before {
            self.mount.caches().names.carry(place.dir, before, version);
        }
        // A reply overtaken by that to a later change has an old version.
        if self.mount.dir_version(place.dir) == Some(version)
            && let Some(file) = file
        {
            self.mount.caches().names.learn(self.mount.ask(), place, version, file);
        }
        before
    }
}

impl Change<'_, 1> {
    /// Takes in that the name leads to this file now.
    pub(crate) fn made(&mut self, entry: &Entry, change: &DirChange) {
        self.linked(&entry.handle, change);
        self.learn(entry);
    }

    /// Takes in that the name leads to this file now, whose attributes the reply does not tell.
    pub(super) fn linked(&mut self, file: &Handle, change: &DirChange) {
        self.learn_name(0, change, Some(Some(*file)));
    }

    /// Takes in that the name is gone.
    pub(super) fn removed(&mut self, change: &DirChange) {
        if self.learn_name(0, change, Some(None)).is_none() {
            self.mount.caches().attributes.outdate_linked();
        }
    }
}

impl Change<'_, 2> {
    /// Takes in that the first name became the second one. If both led to one file already, nothing happens (RFC 1813
    /// §3.3.14), so the first is known to be gone only if its directory changed.
    pub(super) fn renamed(&mut self, [from, to]: &[DirChange; 2]) {
        let is_changed = from.before.zip(from.after).is_some_and(|(before, after)| before != after.change);
        let file = self.learn_name(0, from, is_changed.then_some(None));
        if self.learn_name(1, to, file.filter(|_| is_changed).map(Some)).is_none() {
            self.mount.caches().attributes.outdate_linked();
        }
    }
}

impl<const N: usize> Drop for Change<'_, N> {
    fn drop(&mut self) {
        self.files.iter().flatten().for_each(|file| self.mount.outdate(file));
        for place in self.names.iter().flatten() {
            match self.mount.outdate_name(*place) {
                Some(file) => self.mount.outdate(&file),
                None => self.mount.caches().attributes.outdate_linked(),
            }
        }
    }
}
