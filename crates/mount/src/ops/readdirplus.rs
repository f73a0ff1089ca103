//! READDIRPLUS: names in a directory with their files.

use vfs::Detail;

use super::readdir;
use crate::dispatch::{Call, Outcome};

pub(crate) fn run(mut call: Call<'_>) -> Outcome {
    readdir::list(&mut call, Detail::Entries)
}
