//! One line per interval, as `nfsstat -w` prints it.

use client::{HitsMisses, Statistics};

/// After how many lines the names stand there again.
pub const LINES_PER_HEADER: usize = 20;

/// The names of the columns; wide ones have shares of hits behind them.
pub fn header(is_wide: bool) -> String {
    let names = ["GtAttr", "Lookup", "Rdlink", "Read", "Write", "Rename", "Access", "Rddir"];
    let columns: Vec<String> = names.iter().map(|name| format!("{name:>6}")).collect();
    format!(" {}{}\n", columns.join(" "), if is_wide { " Attr Lkup BioR BioW Accs BioD" } else { "" })
}

/// What was asked of the caches in an interval, and how often a file was renamed.
pub fn line(since: &Statistics, is_wide: bool) -> String {
    let caches = &since.caches;
    let looks = |both: HitsMisses| both.hits.saturating_add(both.misses);
    let numbers = [
        looks(caches.attributes),
        looks(caches.names),
        looks(caches.symlinks),
        looks(caches.block_reads),
        looks(caches.block_writes),
        since.calls("RENAME"),
        looks(caches.access),
        looks(caches.directory_blocks),
    ];
    let mut line: String = numbers.iter().map(|number| format!(" {number:>6}")).collect();
    if is_wide {
        let shares = [
            caches.attributes,
            caches.names,
            caches.block_reads,
            caches.block_writes,
            caches.access,
            caches.directory_blocks,
        ];
        line.extend(shares.map(share));
    }
    line + "\n"
}

/// How many of a hundred looks were hits.
fn share(both: HitsMisses) -> String {
    match both.hits.saturating_mul(100).checked_div(both.hits.saturating_add(both.misses)) {
        Some(percent) => format!(" {percent:>3}%"),
        None => "    -".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use client::{Procedure, ProcedureStatistics};

    use super::*;

    #[test]
    fn interval_is_one_line_under_the_names_of_nfsstat_w() {
        let mut since = Statistics::default();
        since.caches.attributes = HitsMisses { hits: 99, misses: 1 };
        since.caches.block_reads = HitsMisses { hits: 15_000, misses: 1000 };
        since.caches.access = HitsMisses { hits: 0, misses: 3 };
        let renames = ProcedureStatistics { calls: 7, ..Default::default() };
        since.add_procedure(Procedure::named("NFS", Some(3), "RENAME").unwrap(), &renames);
        assert_eq!(
            header(false) + &line(&since, false),
            " GtAttr Lookup Rdlink   Read  Write Rename Access  Rddir
    100      0      0  16000      0      7      3      0
"
        );
        assert_eq!(
            header(true) + &line(&since, true),
            " GtAttr Lookup Rdlink   Read  Write Rename Access  Rddir Attr Lkup BioR BioW Accs BioD
    100      0      0  16000      0      7      3      0  99%    -  93%    -   0%    -
"
        );
    }
}
