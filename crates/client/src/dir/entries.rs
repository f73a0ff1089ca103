use super::Dir;
use crate::directory::Listing;
use crate::{Detail, DirEntry, Result};

/// The names in a directory, with what is known of their files.
#[derive(Debug)]
pub struct Entries<'d>(Listing<'d>);

impl<'d> Entries<'d> {
    pub(super) fn new(dir: &'d Dir) -> Entries<'d> {
        Entries(dir.mount.read_dir(&dir.handle, Detail::Entries))
    }

    /// The next entry, or `None` at the end. `.` and `..` are never among them.
    ///
    /// # Errors
    /// What the server says, and [`Reason::Lie`](crate::Reason::Lie) when the listing cannot be right or has no end.
    pub async fn next(&mut self) -> Result<Option<DirEntry>> {
        self.0.next().await
    }
}
