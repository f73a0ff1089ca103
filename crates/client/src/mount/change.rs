use super::Mount;
use crate::cache::{Asked, Place};
use crate::{Entry, Handle};

/// A change that this client makes to some files and names.
///
/// When nothing was learned of a file by the end of it, be it for a reply that does not tell, that was lost, or that nobody waited
/// for any more, what is known of the file is not believed any longer. The same holds for names.
pub(crate) struct Change<'a, const N: usize> {
    mount: &'a Mount,
    pub(crate) asked: Asked,
    files: [Option<&'a Handle>; N],
    names: Vec<Place<'a>>,
}

impl Mount {
    /// Notes that a call is sent now that changes these files.
    pub(crate) fn change<'a, const N: usize>(&'a self, files: [&'a Handle; N]) -> Change<'a, N> {
        Change { mount: self, asked: self.ask(), files: files.map(Some), names: Vec::new() }
    }

    /// Notes that a call is sent now that changes these names.
    pub(crate) fn change_names<'a, const N: usize>(&'a self, names: [(&'a Handle, &'a [u8]); N]) -> Change<'a, N> {
        let mut change = self.change(names.map(|(dir, _)| dir));
        change.names.extend(names.map(|(dir, name)| Place { dir, name }));
        change
    }
}

impl<const N: usize> Change<'_, N> {
    /// Takes in what the reply says of a file, which may be one of those that were changed.
    pub(crate) fn learn(&mut self, entry: &Entry) {
        for changed in self.files.iter_mut().filter(|file| **file == Some(&entry.handle)) {
            *changed = None;
        }
        self.mount.learn(self.asked, &entry.handle, &entry.attributes);
    }
}

impl<const N: usize> Drop for Change<'_, N> {
    fn drop(&mut self) {
        self.files.iter().flatten().for_each(|file| self.mount.outdate(file));
        self.names.iter().for_each(|place| self.mount.outdate_name(*place));
    }
}
