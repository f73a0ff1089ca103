use std::collections::HashMap;

use vfs::Origin;

use super::{AccessRule, ExportTableError};

/// Who gets a directory under some name: what has to agree with all other exports of the directory.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'e> {
    /// The export's name.
    pub name: &'e str,
    /// Who gets it, and how.
    pub rules: &'e [AccessRule],
    /// Which directory it is.
    pub origin: Origin,
}

impl Claim<'_> {
    /// Every claim that disagrees with an earlier one to the same directory, whatever paths lead there: clients could
    /// choose the export with the rules that they like best.
    pub fn conflicts<'e>(claims: impl IntoIterator<Item = Claim<'e>>) -> Vec<ExportTableError> {
        let mut first: HashMap<(u64, u64), Claim<'e>> = HashMap::new();
        let mut conflicts = Vec::new();
        for claim in claims {
            let earlier = first.entry((claim.origin.device, claim.origin.fileid)).or_insert(claim);
            if !AccessRule::are_same(earlier.rules, claim.rules) {
                let (first, second) = (earlier.name.to_owned(), claim.name.to_owned());
                conflicts.push(ExportTableError::SameDirectory { first, second });
            }
        }
        conflicts
    }
}
