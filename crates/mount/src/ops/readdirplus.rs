//! READDIRPLUS: names in a directory, and the files that they lead to.

use vfs::Detail;

use super::readdir;
use crate::dispatch::{Call, Outcome};

pub(crate) fn run(mut call: Call<'_>) -> Outcome {
    readdir::list(&mut call, Detail::Entries)
}
