//! One line per interval, as `nfsstat -w` prints it.

use client::{HitsMisses, Statistics};

/// The column names are repeated after this many lines.
pub const LINES_PER_HEADER: usize = 20;

/// The names of the columns; wide lines also have hit rates.
pub fn header(is_wide: bool) -> String {
    let names = ["GtAttr", "Lookup", "Rdlink", "Read", "Write", "Rename", "Access", "Rddir"];
    let columns: Vec<String> = names.iter().map(|name| format!("{name:>6}")).collect();
    format!(" {}{}\n", columns.join(" "), if is_wide { " Attr Lkup BioR BioW Accs BioD" } else { "" })
}

/// The calls of an interval, and in wide lines the hit rates of the caches.
pub fn line(since: &Statistics, is_wide: bool) -> String {
    let caches = &since.caches;
    let columns: [&[&str]; 8] = [
        &["GETATTR"],
        &["LOOKUP"],
        &["READLINK"],
        &["READ", "READ_PLUS"],
        &["WRITE"],
        &["RENAME"],
        &["ACCESS"],
        &["READDIR", "READDIRPLUS"],
    ];
    let calls = |names: &[&str]| names.iter().map(|name| since.calls(name)).fold(0, u64::saturating_add);
    let mut line: String = columns.iter().map(|names| format!(" {:>6}", calls(names))).collect();
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

/// The hit rate in percent.
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
        for (name, calls) in [("GETATTR", 3), ("READ", 1000), ("RENAME", 7), ("READDIR", 1), ("READDIRPLUS", 4)] {
            let counted = ProcedureStatistics { calls, ..Default::default() };
            since.add_procedure(Procedure::named("NFS", Some(3), name).unwrap(), &counted);
        }
        assert_eq!(
            header(false) + &line(&since, false),
            " GtAttr Lookup Rdlink   Read  Write Rename Access  Rddir
      3      0      0   1000      0      7      0      5
"
        );
        assert_eq!(
            header(true) + &line(&since, true),
            " GtAttr Lookup Rdlink   Read  Write Rename Access  Rddir Attr Lkup BioR BioW Accs BioD
      3      0      0   1000      0      7      0      5  99%    -  93%    -   0%    -
"
        );
    }
}
