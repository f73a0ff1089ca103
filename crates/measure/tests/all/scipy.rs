//! What the arithmetic says, beside what scipy 1.17.1 says: each figure has its expression above it.

use measure::{Level, Samples};

/// The figures `x` of each row.
const FIGURES: [&[f64]; 3] = [
    &[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0],
    &[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0],
    &[0.1, 0.7, 0.3, 12.5, 3.25, 0.02],
];

fn check(what: &str, expected: &[f64], got: impl Fn(&Samples) -> f64) {
    for (figures, expected) in FIGURES.into_iter().zip(expected) {
        let got = got(&Samples::new(figures.to_vec()).unwrap());
        assert!((got / expected - 1.0).abs() < 1e-12, "{what} of {figures:?} is {got:e}, not {expected:e}");
    }
}

#[test]
fn figures_of_samples_are_scipys() {
    // numpy.mean(x)
    check("mean", &[5.0, 1000000010.0, 2.811_666_666_666_667], Samples::mean);
    // scipy.stats.tstd(x)
    check("deviation", &[2.138_089_935_299_395, 5.477_225_575_051_661, 4.898_368_776_099_515], Samples::stdev);
    // scipy.stats.quantile(x, 0.1)
    check("quantile 0.1", &[3.400_000_000_000_000_4, 1000000004.9, 0.060_000_000_000_000_005], |x| x.quantile(0.1));
    // scipy.stats.quantile(x, 0.25)
    check("quantile 0.25", &[4.0, 1000000006.25, 0.150_000_000_000_000_02], |x| x.quantile(0.25));
    // scipy.stats.quantile(x, 0.5)
    check("quantile 0.5", &[4.5, 1000000010.0, 0.5], |x| x.quantile(0.5));
    // scipy.stats.quantile(x, 0.9)
    check("quantile 0.9", &[7.6, 1000000015.099_999_9, 7.875], |x| x.quantile(0.9));
    // scipy.stats.quantile(x, 0.99)
    check("quantile 0.99", &[8.86, 1000000015.91, 12.037_499_999_999_994], |x| x.quantile(0.99));
    // scipy.stats.t.interval(0.95, len(x) - 1, x.mean(), scipy.stats.sem(x))[0]
    check("low end at 0.95", &[3.212_512_081_763_79, 1000000001.284_511_8, -2.328_856_104_325_838_2], |x| {
        x.mean_interval(Level::P95).unwrap().low
    });
    // scipy.stats.t.interval(0.95, len(x) - 1, x.mean(), scipy.stats.sem(x))[1]
    check("high end at 0.95", &[6.787_487_918_236_209, 1000000018.715_488_2, 7.952_189_437_659_172], |x| {
        x.mean_interval(Level::P95).unwrap().high
    });
    // scipy.stats.t.interval(0.99, len(x) - 1, x.mean(), scipy.stats.sem(x))[0]
    check("low end at 0.99", &[2.354_639_279_424_657, 999999994.004_011, -5.251_614_002_136_677], |x| {
        x.mean_interval(Level::P99).unwrap().low
    });
    // scipy.stats.t.interval(0.99, len(x) - 1, x.mean(), scipy.stats.sem(x))[1]
    check("high end at 0.99", &[7.645_360_720_575_343_5, 1000000025.995_989, 10.874_947_335_470_011], |x| {
        x.mean_interval(Level::P99).unwrap().high
    });
}

#[test]
fn interval_of_a_mean_is_scipys_for_few_figures_and_for_many() {
    // scipy.stats.t.ppf(0.975, n - 1) * scipy.stats.tstd(numpy.arange(n)) / n ** 0.5
    let half_widths = [
        (2, 6.353_102_368_087_347),
        (3, 2.484_137_711_750_330_3),
        (6, 1.963_314_306_980_324),
        (10, 2.165_850_589_668_169),
        (31, 3.335_016_955_785_659),
        (100, 5.756_509_416_935_843_5),
        (1001, 17.931_527_675_844_46),
    ];
    for (count, expected) in half_widths {
        let samples = Samples::new((0..count).map(f64::from).collect()).unwrap();
        let interval = samples.mean_interval(Level::P95).unwrap();
        let got = (interval.high - interval.low) / 2.0;
        assert!((got / expected - 1.0).abs() < 1e-12, "{count}: {got:e} is not {expected:e}");
    }
}

#[test]
fn coverage_of_a_median_is_scipys() {
    // [r for r in range(n // 2) if scipy.stats.binom.cdf(r, n, 0.5) <= 0.025][-1] and
    // 1 - 2 * scipy.stats.binom.cdf(r, n, 0.5)
    let table = [
        (6, 0, 0.968_75),
        (9, 1, 0.960_937_5),
        (10, 1, 0.978_515_625),
        (20, 5, 0.958_610_534_667_968_8),
        (31, 9, 0.970_550_626_516_342_2),
        (100, 39, 0.964_799_799_782_295_1),
        (1000, 468, 0.953_708_802_639_501_9),
    ];
    for (count, rank, coverage) in table {
        let samples = Samples::new((0..count).map(f64::from).collect()).unwrap();
        let found = samples.median_interval(Level::P95).unwrap();
        assert_eq!(
            (found.interval.low, found.interval.high),
            (f64::from(rank), f64::from(count - 1 - rank)),
            "{count}"
        );
        assert!((found.coverage / coverage - 1.0).abs() < 1e-12, "{count}: {:e} is not {coverage:e}", found.coverage);
    }
}
