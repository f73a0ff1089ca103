//! READDIRPLUS: names in a directory with their files.

use vfs::Detail;

use super::readdir;
use crate::dispatch::{Call, FuseResult};

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    readdir::list(&mut call, Detail::Entries)
}
