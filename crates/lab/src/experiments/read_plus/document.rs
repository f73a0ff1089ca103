//! The figures of the source: READ_PLUS for Linux' client, January 2020. Seconds to read a file of 2 GiB over 1 Gbit/s.

use measure::record::{BeforeAfter, DocumentRatio, Levels};

use super::factors::{CACHE, CACHED, FILE, FILE_SYSTEM, PAGES, PATH, UNCACHED, UNIT, VERSION, VERSIONS, WIRE};
use crate::volume::VolumeKind;

/// A file, and the seconds of each version: with the server's cache cold, and warm.
type Row = (&'static str, [f64; 4], [f64; 4]);

const EXT4: [Row; 10] = [
    ("data", [22.909, 22.934, 22.902, 23.485], [18.253, 18.252, 18.253, 18.253]),
    ("hole", [18.256, 18.255, 18.256, 0.708], [18.253, 18.252, 18.253, 0.709]),
    ("mixed-4d", [28.261, 29.616, 28.341, 24.508], [18.253, 18.252, 18.252, 9.15]),
    ("mixed-8d", [27.956, 28.404, 28.32, 23.967], [18.253, 18.252, 18.252, 9.14]),
    ("mixed-16d", [28.172, 27.946, 27.627, 23.043], [18.253, 18.252, 18.252, 9.134]),
    ("mixed-32d", [25.35, 24.406, 24.384, 20.698], [18.253, 18.252, 18.253, 9.132]),
    ("mixed-4h", [28.913, 28.564, 27.996, 21.837], [18.253, 18.252, 18.252, 9.15]),
    ("mixed-8h", [28.625, 27.833, 27.798, 21.71], [18.253, 18.252, 18.253, 9.14]),
    ("mixed-16h", [27.975, 27.662, 27.795, 20.585], [18.253, 18.252, 18.253, 9.134]),
    ("mixed-32h", [25.958, 25.491, 24.856, 21.018], [18.253, 18.252, 18.252, 9.132]),
];

const XFS: [Row; 10] = [
    ("data", [22.041, 22.618, 23.067, 23.496], [18.253, 18.252, 18.253, 18.253]),
    ("hole", [18.256, 18.255, 18.256, 0.723], [18.253, 18.252, 18.253, 0.708]),
    ("mixed-4d", [29.417, 28.503, 28.671, 24.957], [18.253, 18.252, 18.253, 9.15]),
    ("mixed-8d", [29.08, 29.401, 29.251, 24.625], [18.253, 18.252, 18.252, 9.14]),
    ("mixed-16d", [27.638, 28.606, 27.871, 25.511], [18.253, 18.252, 18.253, 9.135]),
    ("mixed-32d", [24.967, 25.239, 25.434, 21.728], [18.253, 18.252, 18.252, 9.132]),
    ("mixed-4h", [34.816, 36.243, 35.837, 32.332], [18.253, 18.252, 18.252, 9.15]),
    ("mixed-8h", [43.469, 44.009, 43.81, 37.962], [18.253, 18.252, 18.253, 9.14]),
    ("mixed-16h", [29.28, 28.563, 28.241, 22.116], [18.253, 18.252, 18.252, 9.134]),
    ("mixed-32h", [29.428, 29.378, 28.808, 27.378], [18.253, 18.252, 18.253, 9.134]),
];

const BTRFS: [Row; 10] = [
    ("data", [25.547, 25.053, 24.209, 32.121], [18.253, 18.252, 18.253, 18.253]),
    ("hole", [18.256, 18.255, 18.256, 0.702], [18.253, 18.252, 18.252, 0.724]),
    ("mixed-4d", [19.016, 18.822, 18.955, 18.697], [18.253, 18.252, 18.253, 9.15]),
    ("mixed-8d", [19.186, 19.444, 18.841, 18.452], [18.253, 18.252, 18.253, 9.14]),
    ("mixed-16d", [18.48, 19.01, 19.167, 16.0], [18.253, 18.252, 18.252, 9.134]),
    ("mixed-32d", [18.635, 18.565, 18.55, 15.93], [18.253, 18.252, 18.252, 9.132]),
    ("mixed-4h", [19.079, 18.99, 19.157, 27.834], [18.253, 18.252, 18.253, 9.15]),
    ("mixed-8h", [18.613, 19.234, 18.616, 20.177], [18.253, 18.252, 18.253, 9.14]),
    ("mixed-16h", [18.59, 19.221, 19.654, 17.273], [18.253, 18.252, 18.253, 9.135]),
    ("mixed-32h", [18.768, 19.122, 18.535, 15.791], [18.253, 18.252, 18.252, 9.132]),
];

const EXT3: [Row; 10] = [
    ("data", [34.292, 33.81, 33.45, 33.39], [18.253, 18.252, 18.253, 18.254]),
    ("hole", [18.256, 18.255, 18.256, 0.718], [18.253, 18.252, 18.253, 0.728]),
    ("mixed-4d", [46.818, 47.14, 48.385, 42.887], [18.253, 18.252, 18.253, 9.15]),
    ("mixed-8d", [58.554, 59.277, 59.673, 56.76], [18.253, 18.252, 18.253, 9.14]),
    ("mixed-16d", [44.631, 44.291, 44.729, 40.237], [18.253, 18.252, 18.253, 9.135]),
    ("mixed-32d", [39.11, 38.735, 38.902, 35.27], [18.253, 18.252, 18.252, 9.132]),
    ("mixed-4h", [56.396, 56.387, 56.573, 67.661], [18.253, 18.252, 18.253, 9.15]),
    ("mixed-8h", [58.483, 58.484, 59.099, 77.958], [18.253, 18.252, 18.253, 9.14]),
    ("mixed-16h", [42.511, 42.338, 42.356, 51.805], [18.253, 18.252, 18.252, 9.135]),
    ("mixed-32h", [38.419, 38.504, 38.643, 40.411], [18.253, 18.252, 18.252, 9.132]),
];

fn rows(kind: VolumeKind) -> &'static [Row; 10] {
    match kind {
        VolumeKind::Ext4 => &EXT4,
        VolumeKind::Xfs => &XFS,
        VolumeKind::Btrfs => &BTRFS,
        VolumeKind::Ext3 => &EXT3,
    }
}

/// The names of the files.
pub(super) fn files() -> impl Iterator<Item = &'static str> {
    EXT4.iter().map(|(file, ..)| *file)
}

/// What the source has of a file system: each version relative to version 3, over the wire. Its times are those of
/// segments in pages.
pub(super) fn ratios(kind: VolumeKind) -> Vec<DocumentRatio> {
    let cells = rows(kind).iter().flat_map(|(file, cold, warm)| [(*file, UNCACHED, cold), (*file, CACHED, warm)]);
    cells
        .flat_map(|(file, cache, seconds)| {
            (1..VERSIONS.len()).map(move |index| ratio(kind, file, cache, seconds, index))
        })
        .collect()
}

fn ratio(kind: VolumeKind, file: &str, cache: &str, seconds: &[f64; 4], index: usize) -> DocumentRatio {
    let levels = [
        (FILE_SYSTEM, kind.name()),
        (PATH, WIRE),
        (FILE, file),
        (UNIT, PAGES),
        (CACHE, cache),
        (VERSION, VERSIONS[index]),
    ];
    let levels: Levels = levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into();
    DocumentRatio::of_figures(levels, BeforeAfter { before: seconds[0], after: seconds[index] })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 GiB at the payload of 1 Gbit/s Ethernet: 1448 of each 1538 bytes, less what calls take.
    #[test]
    fn cached_data_is_bound_by_the_wire_in_all_tables() {
        let wire_seconds = f64::from(1_u32 << 31) / (1e9 / 8.0 * 1448.0 / 1538.0);
        for kind in VolumeKind::ALL {
            let (_, _, cached) = rows(kind)[0];
            assert!(
                cached.iter().all(|seconds| (seconds / wire_seconds - 1.0).abs() < 0.002),
                "{kind:?} {wire_seconds}"
            );
        }
    }

    #[test]
    fn figures_are_those_of_version_3_first() {
        let hole = ratios(VolumeKind::Ext4).into_iter().filter_map(|ratio| ratio.figures());
        assert!(hole.into_iter().any(|pair| pair == BeforeAfter { before: 18.256, after: 0.708 }));
    }

    #[test]
    fn cached_mixed_files_take_half_the_time_with_read_plus() {
        for ratio in VolumeKind::ALL.into_iter().flat_map(ratios) {
            let is_meant = ratio.levels[FILE].starts_with("mixed") && ratio.levels[CACHE] == CACHED;
            if is_meant && ratio.levels[VERSION] == "4.2" {
                assert!((0.5..0.502).contains(&ratio.ratio()), "{ratio:?}");
            }
        }
    }
}
