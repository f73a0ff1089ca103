//! The statistics of a client process as JSON.

use std::time::Duration;

use client::{
    CacheCounters, Counters, HeldState, Histogram, HitsMisses, OperationCounters, Procedure, ProcedureStatistics,
    Statistics,
};
use serde::{Deserialize, Serialize};

/// The format of the document; a reader of another format reports it.
pub const FORMAT: u32 = 2;

/// The statistics of all mounts of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    pub format: u32,
    pub pid: u32,
    pub mounts: Vec<MountFigures>,
}

/// A mount and what it has counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountFigures {
    /// The server and the path there, as mount(8) writes them.
    pub from: String,
    /// The mount point, or the command that uses the mount.
    pub on: String,
    /// The options in the notation of nfs(5), separated by commas.
    pub options: String,
    pub statistics: Figures,
}

impl MountFigures {
    /// Removes control characters, because other users may have chosen the names.
    pub fn printable(mut self) -> MountFigures {
        for text in [&mut self.from, &mut self.on, &mut self.options] {
            if text.chars().any(char::is_control) {
                *text = text.replace(char::is_control, "?");
            }
        }
        self
    }
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Figures {
    pub rpc: Rpc,
    pub caches: Caches,
    pub held: Held,
    pub procedures: Vec<ProcedureFigures>,
    pub operations: Vec<OperationFigures>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rpc {
    timed_out: u64,
    invalid: u64,
    x_replies: u64,
    retries: u64,
    requests: u64,
    replies: u64,
    reconnects: u64,
    refusals: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Both {
    hits: u64,
    misses: u64,
}

/// The caches, with FreeBSD's names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Caches {
    attr: Both,
    lkup: Both,
    bior: Both,
    biow: Both,
    biorl: Both,
    biod: Both,
    dire: Both,
    accs: Both,
}

/// The state held now, with FreeBSD's names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Held {
    openowner: u64,
    opens: u64,
    lockowner: u64,
    locks: u64,
    delegs: u64,
    localown: u64,
    localopen: u64,
    locallown: u64,
    locallock: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureFigures {
    program: String,
    name: String,
    /// The version of NFS; none for other programs.
    version: Option<u32>,
    calls: u64,
    replies: u64,
    sent_bytes: u64,
    received_bytes: u64,
    retransmissions: u64,
    timeouts: u64,
    errors: u64,
    queue: Times,
    wire: Times,
    total: Times,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationFigures {
    name: String,
    calls: u64,
    errors: u64,
}

/// A histogram with an exact sum and its non-empty buckets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Times {
    count: u64,
    sum_ns: u64,
    buckets: Vec<Bucket>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Bucket {
    from_ns: u64,
    to_ns: u64,
    count: u64,
}

impl From<&Statistics> for Figures {
    fn from(statistics: &Statistics) -> Figures {
        let Counters { calls, replies, retransmissions, timeouts, unexpected, invalid, reconnects, refusals } =
            statistics.rpc;
        let operation = |(name, counted): (&str, OperationCounters)| OperationFigures {
            name: name.to_owned(),
            calls: counted.calls,
            errors: counted.errors,
        };
        Figures {
            rpc: Rpc {
                timed_out: timeouts,
                invalid,
                x_replies: unexpected,
                retries: retransmissions,
                requests: calls,
                replies,
                reconnects,
                refusals,
            },
            caches: Caches::from(&statistics.caches),
            held: Held::from(&statistics.held),
            procedures: statistics
                .procedures()
                .map(|(procedure, counted)| ProcedureFigures::new(procedure, counted))
                .collect(),
            operations: statistics.operations().map(operation).collect(),
        }
    }
}

impl Figures {
    /// The statistics in this document. Drops names that this program does not know.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        let Rpc { timed_out, invalid, x_replies, retries, requests, replies, reconnects, refusals } = self.rpc;
        statistics.rpc = Counters {
            calls: requests,
            replies,
            retransmissions: retries,
            timeouts: timed_out,
            unexpected: x_replies,
            invalid,
            reconnects,
            refusals,
        };
        statistics.caches = self.caches.counters();
        statistics.held = self.held.state();
        for figures in &self.procedures {
            if let Some(procedure) = Procedure::named(&figures.program, figures.version, &figures.name) {
                statistics.add_procedure(procedure, &figures.counted());
            }
        }
        for OperationFigures { name, calls, errors } in &self.operations {
            statistics.add_operation_named(name, OperationCounters { calls: *calls, errors: *errors });
        }
        statistics
    }
}

impl ProcedureFigures {
    fn new(procedure: Procedure, counted: &ProcedureStatistics) -> ProcedureFigures {
        ProcedureFigures {
            program: procedure.program().to_owned(),
            name: procedure.name().to_owned(),
            version: procedure.version(),
            calls: counted.calls,
            replies: counted.replies,
            sent_bytes: counted.sent_bytes,
            received_bytes: counted.received_bytes,
            retransmissions: counted.retransmissions,
            timeouts: counted.timeouts,
            errors: counted.errors,
            queue: Times::from(&counted.queue),
            wire: Times::from(&counted.wire),
            total: Times::from(&counted.total),
        }
    }

    fn counted(&self) -> ProcedureStatistics {
        ProcedureStatistics {
            calls: self.calls,
            replies: self.replies,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            errors: self.errors,
            queue: self.queue.histogram(),
            wire: self.wire.histogram(),
            total: self.total.histogram(),
        }
    }
}

impl From<&Histogram> for Times {
    fn from(histogram: &Histogram) -> Times {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bucket = |(from, to, count)| Bucket { from_ns: nanoseconds(from), to_ns: nanoseconds(to), count };
        Times {
            count: histogram.count(),
            sum_ns: nanoseconds(histogram.sum()),
            buckets: histogram.buckets().map(bucket).collect(),
        }
    }
}

impl Times {
    fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::default();
        histogram.add_sum(Duration::from_nanos(self.sum_ns));
        for bucket in &self.buckets {
            histogram.add_bucket(Duration::from_nanos(bucket.from_ns), bucket.count);
        }
        histogram
    }
}

impl From<&HeldState> for Held {
    fn from(held: &HeldState) -> Held {
        Held {
            openowner: held.open_owners,
            opens: held.opens,
            lockowner: held.lock_owners,
            locks: held.locks,
            delegs: held.delegations,
            localown: held.local_open_owners,
            localopen: held.local_opens,
            locallown: held.local_lock_owners,
            locallock: held.local_locks,
        }
    }
}

impl Held {
    fn state(&self) -> HeldState {
        HeldState {
            open_owners: self.openowner,
            opens: self.opens,
            lock_owners: self.lockowner,
            locks: self.locks,
            delegations: self.delegs,
            local_open_owners: self.localown,
            local_opens: self.localopen,
            local_lock_owners: self.locallown,
            local_locks: self.locallock,
        }
    }
}

impl From<&CacheCounters> for Caches {
    fn from(caches: &CacheCounters) -> Caches {
        let both = |HitsMisses { hits, misses }| Both { hits, misses };
        Caches {
            attr: both(caches.attributes),
            lkup: both(caches.names),
            bior: both(caches.block_reads),
            biow: both(caches.block_writes),
            biorl: both(caches.symlinks),
            biod: both(caches.directory_blocks),
            dire: both(caches.directory_entries),
            accs: both(caches.access),
        }
    }
}

impl Caches {
    fn counters(&self) -> CacheCounters {
        let both = |Both { hits, misses }| HitsMisses { hits, misses };
        CacheCounters {
            attributes: both(self.attr),
            names: both(self.lkup),
            block_reads: both(self.bior),
            block_writes: both(self.biow),
            symlinks: both(self.biorl),
            directory_blocks: both(self.biod),
            directory_entries: both(self.dire),
            access: both(self.accs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_come_back_from_json_as_they_were() {
        let mut statistics = Statistics::default();
        statistics.rpc =
            Counters { calls: 9, replies: 8, timeouts: 3, unexpected: 2, invalid: 1, ..Default::default() };
        statistics.caches.block_reads = HitsMisses { hits: 15, misses: 1 };
        statistics.caches.access = HitsMisses { hits: 0, misses: 4 };
        statistics.held = HeldState { opens: 3, local_lock_owners: 1, ..HeldState::default() };
        let mut counted =
            ProcedureStatistics { calls: 9, replies: 8, sent_bytes: 1000, errors: 1, ..Default::default() };
        [1, 90, 90, 5_000_000].into_iter().for_each(|us| counted.wire.record(Duration::from_micros(us)));
        let procedure = Procedure::named("NFS", Some(4), "READ_PLUS").unwrap();
        statistics.add_procedure(procedure, &counted);
        statistics.add_operation_named("PUTFH", OperationCounters { calls: 9, errors: 1 });
        let json = serde_json::to_string(&Figures::from(&statistics)).unwrap();
        let again: Figures = serde_json::from_str(&json).unwrap();
        assert_eq!(again.statistics(), statistics);
    }
}
