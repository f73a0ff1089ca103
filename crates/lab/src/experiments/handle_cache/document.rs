//! The figures of the source: a patch to Linux' server that keeps open files by handle, December 2008.

use measure::record::{BeforeAfter, DocumentRatio, Levels};

use super::factors::{CACHE, ON, OPENS, PLAIN, PROCESSES};

/// Bytes of one read.
pub(super) const SIZES: [u32; 7] = [256, 4096, 8192, 16_384, 32_768, 65_536, 131_072];

/// Processes, and for each size the bandwidth of all of them in KB/s without the patch and with it.
const BANDWIDTH: [(u32, [[f64; 2]; 7]); 7] = [
    (
        4,
        [
            [48_151.09, 50_328.7],
            [47_700.05, 49_760.34],
            [47_553.34, 48_509.0],
            [48_764.87, 51_208.54],
            [49_306.11, 50_141.59],
            [48_681.46, 49_491.32],
            [48_378.02, 49_971.95],
        ],
    ),
    (
        8,
        [
            [38_906.95, 42_444.95],
            [38_141.46, 42_154.24],
            [37_058.55, 41_241.78],
            [37_446.56, 40_573.7],
            [36_655.91, 42_159.85],
            [38_776.11, 40_619.2],
            [38_187.85, 41_119.04],
        ],
    ),
    (
        16,
        [
            [36_274.49, 36_143.0],
            [34_320.56, 37_664.35],
            [35_489.65, 34_555.43],
            [35_647.32, 36_289.72],
            [37_037.31, 36_874.33],
            [36_388.14, 36_991.56],
            [35_729.34, 37_588.85],
        ],
    ),
    (
        32,
        [
            [30_838.89, 32_811.47],
            [31_291.93, 33_439.83],
            [29_885.57, 33_337.1],
            [30_020.23, 31_795.97],
            [32_805.03, 33_860.68],
            [31_275.12, 32_997.34],
            [33_391.85, 34_209.86],
        ],
    ),
    (
        64,
        [
            [26_729.46, 28_077.13],
            [25_705.01, 27_339.37],
            [27_757.06, 27_488.04],
            [22_927.44, 23_938.79],
            [26_956.16, 27_848.52],
            [27_419.59, 29_228.76],
            [27_623.29, 27_651.99],
        ],
    ),
    (
        128,
        [
            [22_463.63, 22_437.45],
            [22_039.69, 22_554.03],
            [22_218.42, 24_010.64],
            [15_295.59, 16_745.28],
            [23_319.54, 23_450.46],
            [22_942.03, 24_169.26],
            [23_845.27, 23_894.14],
        ],
    ),
    (
        256,
        [
            [15_659.17, 16_266.38],
            [15_614.72, 16_362.25],
            [16_950.24, 17_092.5],
            [9253.25, 10_274.28],
            [17_872.89, 17_792.93],
            [18_459.78, 18_641.68],
            [19_408.01, 20_538.8],
        ],
    ),
];

/// How many processes there are.
pub(super) fn processes() -> impl Iterator<Item = u32> {
    BANDWIDTH.into_iter().map(|(processes, _)| processes)
}

/// The ratios of bandwidth with the cache and without it for reads of a size, by the number of processes.
pub(super) fn ratios(size: u32) -> Vec<DocumentRatio> {
    let of_size = |row: [[f64; 2]; 7]| SIZES.into_iter().zip(row).find(|(of, _)| *of == size);
    let rows = BANDWIDTH.into_iter().filter_map(|(processes, row)| Some((processes, of_size(row)?.1)));
    rows.map(|(processes, [before, after])| DocumentRatio::of_figures(levels(processes), BeforeAfter { before, after }))
        .collect()
}

/// The same for all sizes together, on which the source's bandwidth hardly depends: they are repetitions. A figure is
/// the harmonic mean, since each size reads as much.
pub(super) fn pooled() -> Vec<DocumentRatio> {
    let mean = |row: [[f64; 2]; 7], column: usize| 7.0 / row.iter().map(|pair| 1.0 / pair[column]).sum::<f64>();
    let figures = |row| BeforeAfter { before: mean(row, 0), after: mean(row, 1) };
    BANDWIDTH.into_iter().map(|(processes, row)| DocumentRatio::of_figures(levels(processes), figures(row))).collect()
}

fn levels(processes: u32) -> Levels {
    let levels = [(CACHE, ON), (OPENS, PLAIN), (PROCESSES, &processes.to_string())];
    levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_the_mean_and_the_range_of_the_source() {
        let percent: Vec<f64> = SIZES.into_iter().flat_map(ratios).map(|row| (row.ratio() - 1.0) * 100.0).collect();
        let mean = percent.iter().sum::<f64>() / percent.len() as f64;
        let (least, most) = percent.iter().fold((0.0_f64, 0.0_f64), |(least, most), &p| (least.min(p), most.max(p)));
        // The source cuts its percentages to two digits, so that they are up to 0.01 off.
        for (is, of_source) in [(mean, 4.56), (least, -2.63), (most, 15.01)] {
            assert!((is - of_source).abs() < 0.01, "{is} is not {of_source}");
        }
        assert_eq!(percent.len(), 49);
        assert_eq!(percent.iter().filter(|p| **p < 0.0).count(), 6);
    }
}
