//! The figures of the source: slides about NFS read and write performance, Sun, about 1995. All are percentages by
//! which throughput differs; "0 %" means no significant difference.

use measure::record::{DocumentRatio, Levels};

use super::factors::{CACHE, FLUSHED, LOAD, READ, STORAGE, TCP, TRANSPORT, UDP, V2, V3, VERSION, WRITE};
use super::storage::{self, BOTH, FAST_LOG, SINGLE_LOG};

/// What the source calls a storage, a version or a transport, and the percentages of reads and writes.
type Cells = [(&'static str, &'static str, [i32; 2])];

/// The server's cache flushed between passes, relative to one that is not: storage and version, and transport.
const FLUSHED_TO_WARM: [((&str, &str), &str, [i32; 2]); 8] = [
    (("UFS", V2), TCP, [-56, -1]),
    (("UFS", V2), UDP, [-61, -1]),
    (("UFS", V3), TCP, [-85, -2]),
    (("UFS", V3), UDP, [-86, -4]),
    (("SSA", V2), TCP, [-8, -8]),
    (("SSA", V2), UDP, [-3, -10]),
    (("SSA", V3), TCP, [-14, -16]),
    (("SSA", V3), UDP, [-20, -16]),
];

/// Version 3 relative to version 2, by storage and transport.
const V3_TO_V2: &Cells = &[
    ("SSA+RAM", TCP, [88, 44]),
    ("SSA+RAM", UDP, [68, 47]),
    ("SSA+RAM+Pr", TCP, [83, 31]),
    ("SSA+RAM+Pr", UDP, [58, 28]),
    ("UFS", TCP, [-52, 95]),
    ("UFS", UDP, [-45, 120]),
    ("UFS+Pr", TCP, [-52, 11]),
    ("UFS+Pr", UDP, [-45, 25]),
];

/// TCP relative to UDP, by storage and version.
const TCP_TO_UDP: &Cells = &[
    ("SSA+RAM", V2, [-10, -7]),
    ("SSA+RAM", V3, [0, -9]),
    ("SSA+RAM+Pr", V2, [-13, -9]),
    ("SSA+RAM+Pr", V3, [0, -6]),
    ("UFS", V2, [1, 1]),
    ("UFS", V3, [-12, -11]),
    ("UFS+Pr", V2, [0, 1]),
    ("UFS+Pr", V3, [-11, -10]),
];

/// Memory in the array relative to none, by version and transport.
const ARRAY_MEMORY: &Cells = &[(V2, TCP, [0, 245]), (V2, UDP, [0, 261]), (V3, TCP, [0, 5]), (V3, UDP, [0, 6])];

/// A card with memory in the server relative to none, over UDP, by storage and version.
const CARD: &Cells = &[("SSA+RAM", V2, [0, 14]), ("SSA+RAM", V3, [0, 0]), ("UFS", V2, [0, 76]), ("UFS", V3, [0, 0])];

pub(super) fn flushed_to_warm() -> Vec<DocumentRatio> {
    let cells = FLUSHED_TO_WARM.iter().map(|((source, version), transport, percent)| {
        ([(STORAGE, storage::like(source)), (VERSION, *version), (TRANSPORT, *transport)], *percent)
    });
    cells.flat_map(|(levels, percent)| ratios(&levels, percent)).collect()
}

pub(super) fn v3_to_v2() -> Vec<DocumentRatio> {
    let levels = |source, transport| [(STORAGE, storage::like(source)), (TRANSPORT, transport), (VERSION, V3)];
    table(V3_TO_V2, levels)
}

pub(super) fn tcp_to_udp() -> Vec<DocumentRatio> {
    table(TCP_TO_UDP, |source, version| [(STORAGE, storage::like(source)), (VERSION, version), (TRANSPORT, TCP)])
}

pub(super) fn array_memory() -> Vec<DocumentRatio> {
    table(ARRAY_MEMORY, |version, transport| [(STORAGE, FAST_LOG), (VERSION, version), (TRANSPORT, transport)])
}

/// What the card adds to a storage.
pub(super) fn card(to: &str) -> Vec<DocumentRatio> {
    let cells: Vec<_> = CARD.iter().copied().filter(|(source, ..)| storage::like(source) == to).collect();
    let with_card = if to == FAST_LOG { BOTH } else { SINGLE_LOG };
    table(&cells, |_, version| [(STORAGE, with_card), (VERSION, version), (TRANSPORT, UDP)])
}

fn table<'a>(
    cells: &Cells,
    levels: impl Fn(&'static str, &'static str) -> [(&'a str, &'a str); 3],
) -> Vec<DocumentRatio> {
    cells.iter().flat_map(|(one, other, percent)| ratios(&levels(one, other), *percent)).collect()
}

/// The ratios of reads and of writes. All of them are compared with those of a flushed cache, which the source says
/// users want.
fn ratios(levels: &[(&str, &str)], percent: [i32; 2]) -> [DocumentRatio; 2] {
    let all = |load| -> Levels {
        let levels = levels.iter().copied().chain([(LOAD, load), (CACHE, FLUSHED)]);
        levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).collect()
    };
    let ratio = |load, percent| DocumentRatio::of_ratio(all(load), 1.0 + f64::from(percent) / 100.0);
    [ratio(READ, percent[0]), ratio(WRITE, percent[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(cells: &Cells, one: &str, other: &str, load: usize) -> f64 {
        let cell = cells.iter().find(|cell| (cell.0, cell.1) == (one, other)).unwrap();
        f64::from(cell.2[load]) / 100.0 + 1.0
    }

    /// The source rounds each ratio to a percent.
    #[test]
    fn rings_of_versions_and_transports_close_within_the_rounding_of_the_source() {
        for source in ["SSA+RAM", "SSA+RAM+Pr", "UFS", "UFS+Pr"] {
            for load in [0, 1] {
                let versions = [TCP, UDP].map(|transport| find(V3_TO_V2, source, transport, load));
                let transports = [V2, V3].map(|version| find(TCP_TO_UDP, source, version, load));
                let around = transports[0] * versions[0] / (versions[1] * transports[1]);
                let rounding: f64 = versions.iter().chain(&transports).map(|ratio| 0.005 / ratio).sum();
                // "0 %" may hide a difference that was not significant.
                let hidden = if transports.contains(&1.0) { 0.05 } else { 0.0 };
                assert!((around - 1.0).abs() <= rounding + hidden, "{source} {load}: {around}");
            }
        }
    }

    #[test]
    fn tables_have_the_64_cells_of_the_source() {
        let parts =
            [flushed_to_warm(), v3_to_v2(), tcp_to_udp(), array_memory(), card(FAST_LOG), card(storage::SINGLE)];
        assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), 64);
    }
}
