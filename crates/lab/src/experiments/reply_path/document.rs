//! The figures of the source: FreeBSD's server before and after its reply buffers were changed, March 2014.

use measure::record::{BeforeAfter, DocumentRatio, Levels};

use super::factors::{LIMITED, LOAD, SIZE, STEADY, WAY};
use super::way::PATCHED;

/// A test of the source: load, size, and bandwidth in KB/s and IOPS, each unpatched and patched.
type Row = (&'static str, &'static str, [f64; 2], [f64; 2]);

/// One run each. "write 8k" of the source is its write of 128 KiB.
const FIO: [Row; 8] = [
    ("read", "4k", [212_304.0, 245_320.0], [53_076.0, 61_330.0]),
    ("read", "128k", [276_067.0, 315_568.0], [2157.0, 2465.0]),
    ("randread", "4k", [77_752.0, 93_592.0], [19_438.0, 23_398.0]),
    ("randread", "128k", [107_683.0, 164_267.0], [841.0, 1283.0]),
    ("write", "4k", [85_475.0, 88_713.0], [21_368.0, 22_178.0]),
    ("write", "128k", [663_511.0, 653_636.0], [5184.0, 5107.0]),
    ("randwrite", "4k", [8993.6, 8876.7], [2248.0, 2219.0]),
    ("randwrite", "128k", [631_760.0, 629_017.0], [4936.0, 4914.0]),
];

/// The share of a processor that nfsd took while `dd` read 10 GB in blocks of 128 KiB, in percent.
const NFSD_CPU_PERCENT: [f64; 2] = [52.25, 41.99];

/// The ratios of bandwidth. Reads are compared where the server limits them, if such loads are there.
pub(super) fn bandwidth(has_limited: bool) -> Vec<DocumentRatio> {
    let limited =
        |load: &str| LIMITED.into_iter().find(|limited| has_limited && limited.split(',').next() == Some(load));
    FIO.into_iter().map(|(load, size, bandwidth, _)| ratio(limited(load).unwrap_or(load), size, bandwidth)).collect()
}

/// The ratios of IOPS: those of bandwidth once more, since all blocks of a test have one size.
pub(super) fn iops() -> Vec<DocumentRatio> {
    let same = "the bandwidth's ratio";
    FIO.into_iter().map(|(load, size, _, iops)| ratio(load, size, iops).not_compared(same)).collect()
}

/// The ratio of the server's processor time at the same bandwidth.
pub(super) fn server_cpu() -> Vec<DocumentRatio> {
    vec![ratio(STEADY, "128k", NFSD_CPU_PERCENT)]
}

fn ratio(load: &str, size: &str, [unpatched, patched]: [f64; 2]) -> DocumentRatio {
    let levels = [(WAY, PATCHED), (LOAD, load), (SIZE, size)];
    let levels: Levels = levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into();
    DocumentRatio::of_figures(levels, BeforeAfter { before: unpatched, after: patched })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_the_percentages_of_the_source() {
        let percent: Vec<f64> =
            bandwidth(true).iter().map(|row| ((row.ratio() - 1.0) * 1000.0).round() / 10.0).collect();
        assert_eq!(percent, [15.6, 14.3, 20.4, 52.5, 3.8, -1.5, -1.3, -0.4]);
        assert!(iops().iter().all(|ratio| ratio.not_compared.is_some()));
        let of_iops = iops();
        assert!(bandwidth(false).iter().zip(of_iops).all(|(one, other)| (one.ratio() - other.ratio()).abs() < 0.002));
    }

    #[test]
    fn reads_are_compared_where_the_server_limits_them_and_writes_where_nothing_does() {
        let loads = |has_limited| bandwidth(has_limited).iter().map(|row| row.levels[LOAD].clone()).collect::<Vec<_>>();
        let [read, randread] = LIMITED;
        assert_eq!(loads(true), [read, read, randread, randread, "write", "write", "randwrite", "randwrite"]);
        assert_eq!(loads(false)[..3], ["read", "read", "randread"]);
    }
}
