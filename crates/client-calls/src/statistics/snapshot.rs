use std::collections::BTreeMap;

use proto::nfs4::OpNumber;

use super::{CacheCounters, HeldState, Histogram, HitsMisses, Procedure};
use crate::core::Counters;

/// Statistics of one procedure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcedureStatistics {
    /// Calls made.
    pub calls: u64,
    /// Calls that got a reply.
    pub replies: u64,
    /// Bytes of calls, with record marks, for every send.
    pub sent_bytes: u64,
    /// Bytes of replies, with record marks.
    pub received_bytes: u64,
    /// Retransmissions of calls.
    pub retransmissions: u64,
    /// Timeouts of calls.
    pub timeouts: u64,
    /// Calls without a reply, not carried out, or with a status other than OK.
    pub errors: u64,
    /// The time from a call's start to its first send.
    pub queue: Histogram,
    /// The time from a call's first send to its reply.
    pub wire: Histogram,
    /// The sum of both.
    pub total: Histogram,
}

/// Counters of one operation in NFSv4 COMPOUNDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OperationCounters {
    /// How often it was sent.
    pub calls: u64,
    /// How often its error ended a COMPOUND.
    pub errors: u64,
}

/// Statistics of a mount. Subtract an earlier snapshot for the time in between.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// RPC counters of all connections to NFS; connections to other programs count only in the procedures.
    pub rpc: Counters,
    /// The counters of the caches.
    pub caches: CacheCounters,
    /// State held now, whenever counting began.
    pub held: HeldState,
    procedures: BTreeMap<Procedure, ProcedureStatistics>,
    operations: BTreeMap<u32, OperationCounters>,
}

impl Statistics {
    /// The procedures that were called.
    pub fn procedures(&self) -> impl Iterator<Item = (Procedure, &ProcedureStatistics)> {
        self.procedures.iter().map(|(procedure, statistics)| (*procedure, statistics))
    }

    /// How often procedures of this name were called, in all versions of NFS.
    pub fn calls(&self, name: &str) -> u64 {
        let is_meant = |procedure: Procedure| procedure.version().is_some() && procedure.name() == name;
        self.procedures()
            .filter(|(procedure, _)| is_meant(*procedure))
            .map(|(_, counted)| counted.calls)
            .fold(0, u64::saturating_add)
    }

    /// The operations in NFSv4 COMPOUNDs, by name.
    pub fn operations(&self) -> impl Iterator<Item = (&'static str, OperationCounters)> {
        self.operations.iter().filter_map(|(number, counted)| Some((OpNumber::from_number(*number)?.name(), *counted)))
    }

    /// The counters of one operation in COMPOUNDs.
    pub fn operation(&self, operation: OpNumber) -> OperationCounters {
        self.operations.get(&operation.number()).copied().unwrap_or_default()
    }

    /// Adds the counters of a procedure.
    pub fn add_procedure(&mut self, procedure: Procedure, counted: &ProcedureStatistics) {
        self.procedures.entry(procedure).or_default().combine(counted, u64::saturating_add, Histogram::merge);
    }

    /// Adds the procedures of `other`, and nothing else.
    #[doc(hidden)]
    pub fn add_procedures(&mut self, other: &Statistics) {
        other.procedures().for_each(|(procedure, counted)| self.add_procedure(procedure, counted));
    }

    /// Adds the counters of the operation with this number.
    pub(super) fn add_operation(&mut self, number: u32, counted: OperationCounters) {
        if counted != OperationCounters::default() {
            let sum = self.operations.entry(number).or_default();
            *sum = sum.combine(counted, u64::saturating_add);
        }
    }

    /// Adds the counters of the operation with this name; unknown names are left out.
    pub fn add_operation_named(&mut self, name: &str, counted: OperationCounters) {
        let mut known = (0..Procedure::OPERATIONS as u32).filter_map(OpNumber::from_number);
        if let Some(operation) = known.find(|operation| operation.name() == name) {
            self.add_operation(operation.number(), counted);
        }
    }

    /// Adds the statistics of another mount.
    pub fn merge(&mut self, other: &Statistics) {
        self.rpc += other.rpc;
        self.caches = self.caches.combine(&other.caches, u64::saturating_add);
        self.held = self.held.plus(&other.held);
        self.add_procedures(other);
        other.operations.iter().for_each(|(number, counted)| self.add_operation(*number, *counted));
    }

    /// The difference since `earlier`. Leaves out procedures and operations without calls since then.
    #[must_use]
    pub fn since(&self, earlier: &Statistics) -> Statistics {
        let mut since = self.clone();
        since.rpc = self.rpc.since(&earlier.rpc);
        since.caches = self.caches.combine(&earlier.caches, u64::saturating_sub);
        for (procedure, counted) in &earlier.procedures {
            if let Some(now) = since.procedures.get_mut(procedure) {
                now.combine(counted, u64::saturating_sub, Histogram::subtract);
            }
        }
        since.procedures.retain(|_, counted| *counted != ProcedureStatistics::default());
        for (number, counted) in &mut since.operations {
            *counted =
                counted.combine(earlier.operations.get(number).copied().unwrap_or_default(), u64::saturating_sub);
        }
        since.operations.retain(|_, counted| *counted != OperationCounters::default());
        since
    }
}

impl ProcedureStatistics {
    fn combine(&mut self, other: &Self, how: fn(u64, u64) -> u64, times: fn(&mut Histogram, &Histogram)) {
        self.calls = how(self.calls, other.calls);
        self.replies = how(self.replies, other.replies);
        self.sent_bytes = how(self.sent_bytes, other.sent_bytes);
        self.received_bytes = how(self.received_bytes, other.received_bytes);
        self.retransmissions = how(self.retransmissions, other.retransmissions);
        self.timeouts = how(self.timeouts, other.timeouts);
        self.errors = how(self.errors, other.errors);
        times(&mut self.queue, &other.queue);
        times(&mut self.wire, &other.wire);
        times(&mut self.total, &other.total);
    }
}

impl OperationCounters {
    fn combine(self, other: OperationCounters, how: fn(u64, u64) -> u64) -> OperationCounters {
        OperationCounters { calls: how(self.calls, other.calls), errors: how(self.errors, other.errors) }
    }
}

impl CacheCounters {
    fn combine(&self, other: &CacheCounters, how: fn(u64, u64) -> u64) -> CacheCounters {
        let both = |mine: HitsMisses, others: HitsMisses| HitsMisses {
            hits: how(mine.hits, others.hits),
            misses: how(mine.misses, others.misses),
        };
        CacheCounters {
            attributes: both(self.attributes, other.attributes),
            names: both(self.names, other.names),
            block_reads: both(self.block_reads, other.block_reads),
            block_writes: both(self.block_writes, other.block_writes),
            symlinks: both(self.symlinks, other.symlinks),
            directory_blocks: both(self.directory_blocks, other.directory_blocks),
            directory_entries: both(self.directory_entries, other.directory_entries),
            access: both(self.access, other.access),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proto::nfs3;

    use super::*;

    fn statistics(reads: u64, lookups: u64) -> Statistics {
        let mut statistics =
            Statistics { rpc: Counters { calls: reads + lookups, ..Counters::default() }, ..Default::default() };
        statistics.caches.block_reads = HitsMisses { hits: 15 * reads, misses: reads };
        for (procedure, calls) in [(Procedure::of::<nfs3::Read>(), reads), (Procedure::of::<nfs3::Lookup>(), lookups)] {
            let mut counted =
                ProcedureStatistics { calls, replies: calls, sent_bytes: 100 * calls, ..Default::default() };
            (0..calls).for_each(|_| counted.total.record(Duration::from_micros(50)));
            if calls > 0 {
                statistics.add_procedure(procedure, &counted);
            }
        }
        statistics.add_operation(OpNumber::Putfh.number(), OperationCounters { calls: reads, errors: 0 });
        statistics
    }

    #[test]
    fn interval_has_what_happened_in_it_and_nothing_else() {
        let mut named = Statistics::default();
        named.add_operation_named("PUTFH", OperationCounters { calls: 6, errors: 0 });
        named.add_operation_named("NO_SUCH", OperationCounters { calls: 1, errors: 0 });
        assert!(named.operations().eq(statistics(6, 0).operations()));
        let since = statistics(10, 3).since(&statistics(4, 3));
        assert_eq!(since, statistics(6, 0));
        assert_eq!((since.calls("READ"), since.calls("LOOKUP"), since.rpc.calls), (6, 0, 6));
        assert_eq!(statistics(4, 1).since(&statistics(4, 1)), Statistics::default());
    }

    #[test]
    fn interval_over_a_restart_is_empty_and_not_huge() {
        let since = statistics(1, 0).since(&statistics(4, 0));
        assert_eq!((since.calls("READ"), since.rpc.calls, since.caches.block_reads.hits), (0, 0, 0));
    }

    #[test]
    fn mounts_are_added_up() {
        let mut sum = statistics(1, 2);
        sum.merge(&statistics(10, 20));
        assert_eq!(sum, statistics(11, 22));
    }
}
