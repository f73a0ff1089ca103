//! Files with names in several exports.
//!
//! Records of such a file name it by the handles of different exports. Its data are replayed in the order of the log
//! anyway; here, a flush through one export makes older records of the others obsolete, too, and of its attributes the
//! last ones count.

use std::collections::HashMap;

use vfs::Handle;

use super::CX;
use super::site::Site;
use crate::error::WriteLogError;

/// A file of a site.
type Member = (usize, Handle);

/// Gives the plans of all exports the same state of each file that they share.
pub(super) fn merge(sites: &mut [Site<'_>]) -> Result<(), WriteLogError> {
    if sites.len() < 2 {
        return Ok(());
    }
    let mut shared: HashMap<(u64, u64), Vec<Member>> = HashMap::new();
    for (at, site) in sites.iter().enumerate() {
        for file in site.plan.files.keys() {
            let Some(inner) = site.found(file) else { continue };
            if let Ok(found) = site.tried("look at a file", site.fs().attributes(&CX, &inner))? {
                shared.entry((found.fsid, found.fileid)).or_default().push((at, *file));
            }
        }
    }
    shared.into_values().filter(|members| members.len() > 1).for_each(|members| merge_file(sites, &members));
    Ok(())
}

fn merge_file(sites: &mut [Site<'_>], members: &[Member]) {
    let Some(((at, file), others)) = members.split_first() else { return };
    // Names that were put right by way of one export have changed the ctime that others found.
    let before = members.iter().filter_map(|(at, file)| sites[*at].before(file)).min_by_key(|before| before.changed);
    for (before, (at, file)) in before.iter().flat_map(|before| members.iter().map(move |member| (before, member))) {
        sites[*at].note_before(*file, *before);
    }
    let mut merged = std::mem::take(sites[*at].plan.planned(file));
    for (at, file) in others {
        merged.take_over(sites[*at].plan.planned(file));
    }
    for (at, file) in others {
        let planned = sites[*at].plan.planned(file);
        planned.synced(merged.synced_before);
        planned.sizes = merged.sizes.clone();
    }
    *sites[*at].plan.planned(file) = merged;
}
