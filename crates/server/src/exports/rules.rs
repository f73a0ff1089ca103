use std::collections::HashMap;

use access_rules::AccessRule;
use vfs::Origin;

use super::error::ExportTableError;

/// The access rules of an export, which must agree with those of all other exports of the same directory.
#[derive(Debug, Clone, Copy)]
pub struct ExportRules<'e> {
    /// The export's name.
    pub name: &'e str,
    /// Its clients and their options.
    pub rules: &'e [AccessRule],
    /// Its directory.
    pub origin: Origin,
}

impl ExportRules<'_> {
    /// Every claim that conflicts with an earlier one to the same directory, by whatever path. Otherwise a client could
    /// choose the export with the most generous rules.
    pub fn conflicts<'e>(claims: impl IntoIterator<Item = ExportRules<'e>>) -> Vec<ExportTableError> {
        let mut first: HashMap<(u64, u64), ExportRules<'e>> = HashMap::new();
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
