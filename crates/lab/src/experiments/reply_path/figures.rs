//! The figures of a pass.

use measure::record::{Better, FigureKind};

use crate::contender::Work;
use crate::engine::Figures;
use crate::experiments::count;
use crate::file_load::FileLoadFound;

pub(super) const BANDWIDTH: &str = "bandwidth";
pub(super) const IOPS: &str = "IOPS";
pub(super) const SERVER_COST: &str = "server cost";
pub(super) const SERVER_CPU: &str = "server CPU";
const UNCOMMITTED: &str = "bandwidth without COMMIT";
const FLATTENED: &str = "flattened replies";
const COPIED: &str = "copied bytes";

pub(super) fn kinds() -> Vec<FigureKind> {
    use Better::{Higher, Lower, Neither};
    let kind = |(name, unit, better): (&str, &str, Better)| FigureKind::new(name, unit, better);
    [
        (BANDWIDTH, "MB/s", Higher),
        (UNCOMMITTED, "MB/s", Higher),
        (IOPS, "1/s", Higher),
        ("p50", "µs", Lower),
        ("p99", "µs", Lower),
        (SERVER_COST, "s/GB", Lower),
        (SERVER_CPU, "%", Lower),
        (count::INSTRUCTIONS, "per READ", Lower),
        (FLATTENED, "", Lower),
        (COPIED, "bytes", Lower),
        ("client cost", "s/GB", Lower),
        ("READ", "calls", Neither),
        ("WRITE", "calls", Neither),
        ("COMMIT", "calls", Neither),
        ("Attr hits", "", Neither),
        ("Attr misses", "", Neither),
        ("BioR hits", "", Neither),
        ("BioR misses", "", Neither),
        ("BioW hits", "", Neither),
        ("BioW misses", "", Neither),
    ]
    .map(kind)
    .to_vec()
}

/// The figures of what was found. The bandwidth of a steady load is no figure: it is given.
pub(super) fn of(found: &FileLoadFound, work: Option<Work>, is_steady: bool) -> Figures {
    let bytes = found.bytes as f64;
    let mut figures = Figures::default();
    if !is_steady {
        set_speed(&mut figures, found);
    }
    set_counts(&mut figures, found);
    if let Some(cpu) = found.server_cpu {
        figures.set(SERVER_COST, cpu.as_secs_f64() / (bytes / 1e9));
        figures.set(SERVER_CPU, cpu.as_secs_f64() / found.elapsed_with_commit.as_secs_f64() * 100.0);
    }
    if let Some(work) = work {
        figures.set(FLATTENED, work.flattened as f64);
        figures.set(COPIED, work.copied_bytes as f64);
    }
    figures.set("client cost", found.client_cpu.as_secs_f64() / (bytes / 1e9));
    figures.set_latency(&found.latency_ns);
    figures
}

fn set_speed(figures: &mut Figures, found: &FileLoadFound) {
    let rate_mb = |seconds: f64| found.bytes as f64 / seconds / 1e6;
    let quantile_us = |q| found.latency_ns.quantile(q) as f64 / 1e3;
    figures.set(BANDWIDTH, rate_mb(found.elapsed_with_commit.as_secs_f64()));
    figures.set(UNCOMMITTED, rate_mb(found.elapsed.as_secs_f64()));
    figures.set(IOPS, found.operations as f64 / found.elapsed.as_secs_f64());
    figures.set("p50", quantile_us(0.5));
    figures.set("p99", quantile_us(0.99));
}

fn set_counts(figures: &mut Figures, found: &FileLoadFound) {
    let caches = found.statistics.caches;
    for name in ["READ", "WRITE", "COMMIT"] {
        figures.set(name, found.statistics.calls(name) as f64);
    }
    for (name, value) in [
        ("Attr hits", caches.attributes.hits),
        ("Attr misses", caches.attributes.misses),
        ("BioR hits", caches.block_reads.hits),
        ("BioR misses", caches.block_reads.misses),
        ("BioW hits", caches.block_writes.hits),
        ("BioW misses", caches.block_writes.misses),
    ] {
        figures.set(name, value as f64);
    }
}
