use std::sync::atomic::{AtomicU64, Ordering};

/// The number of procedures of one version that are counted separately.
const MAX_PROCEDURES: usize = 32;

/// The counted programs and versions, in the order of [`WorkerCounters::calls`].
const VERSIONS: [(&str, u32, u32); 14] = [
    ("nfs", 100_003, 2),
    ("nfs", 100_003, 3),
    ("nfsacl", 100_227, 2),
    ("nfsacl", 100_227, 3),
    ("mount", 100_005, 1),
    ("mount", 100_005, 2),
    ("mount", 100_005, 3),
    ("nlm", 100_021, 1),
    ("nlm", 100_021, 3),
    ("nlm", 100_021, 4),
    ("nsm", 100_024, 1),
    ("rpcbind", 100_000, 2),
    ("rpcbind", 100_000, 3),
    ("rpcbind", 100_000, 4),
];

/// The counters of one worker; no other worker writes them.
#[derive(Debug, Default)]
#[repr(align(128))]
struct WorkerCounters {
    calls: [[AtomicU64; MAX_PROCEDURES]; VERSIONS.len()],
    rejected: AtomicU64,
    not_calls: AtomicU64,
    replayed: AtomicU64,
    dropped: AtomicU64,
    deferred: AtomicU64,
    gathered: AtomicU64,
}

/// The server's counters since its start. Each worker writes its own; readers add them up.
#[derive(Debug)]
pub struct Counters {
    workers: Box<[WorkerCounters]>,
}

/// The number of calls of one procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcedureCount {
    /// The program's name.
    pub program: &'static str,
    /// The program's number.
    pub number: u32,
    /// The program's version.
    pub version: u32,
    /// The procedure's number.
    pub procedure: u32,
    /// The number of answered calls.
    pub calls: u64,
}

/// Counted events other than calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountedEvent {
    /// A call was rejected on the RPC level.
    Rejected,
    /// A message was not a call.
    NotACall,
    /// A call was answered from the replay cache.
    Replayed,
    /// A call was dropped because its original is being processed.
    Dropped,
    /// A call was deferred to a thread that may block.
    Deferred,
    /// A WRITE was merged with the one before it.
    Gathered,
}

impl Counters {
    pub(crate) fn new(workers: usize) -> Counters {
        Counters { workers: (0..workers.max(1)).map(|_| WorkerCounters::default()).collect() }
    }

    fn worker(&self, worker: usize) -> &WorkerCounters {
        &self.workers[worker % self.workers.len()]
    }

    pub(crate) fn count_call(&self, worker: usize, procedure: &rpc::Procedure) {
        // The operations of a COMPOUND are not counted.
        if (procedure.program, procedure.version) == (proto::nfs4::PROGRAM, proto::nfs4::VERSION) {
            return;
        }
        let is_version =
            |(_, program, version): &(_, u32, u32)| (*program, *version) == (procedure.program, procedure.version);
        let Some(version) = VERSIONS.iter().position(is_version) else { return };
        if let Some(count) = self.worker(worker).calls[version].get(procedure.number as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn count(&self, worker: usize, event: CountedEvent) {
        self.count_many(worker, event, 1);
    }

    pub(crate) fn count_many(&self, worker: usize, event: CountedEvent, count: u64) {
        self.worker(worker).event(event).fetch_add(count, Ordering::Relaxed);
    }

    fn sum(&self, event: CountedEvent) -> u64 {
        self.workers.iter().map(|worker| worker.event(event).load(Ordering::Relaxed)).sum()
    }

    /// Calls rejected on the RPC level: unknown programs, versions and procedures, malformed arguments and credentials.
    pub fn rejected(&self) -> u64 {
        self.sum(CountedEvent::Rejected)
    }

    /// Messages that were not calls.
    pub fn not_calls(&self) -> u64 {
        self.sum(CountedEvent::NotACall)
    }

    /// Calls answered from the replay cache.
    pub fn replayed(&self) -> u64 {
        self.sum(CountedEvent::Replayed)
    }

    /// Calls dropped because their original was being processed.
    pub fn dropped(&self) -> u64 {
        self.sum(CountedEvent::Dropped)
    }

    /// Calls deferred to a thread that may block.
    pub fn deferred(&self) -> u64 {
        self.sum(CountedEvent::Deferred)
    }

    /// WRITEs merged with the one before them, which cost no system call of their own.
    pub fn gathered(&self) -> u64 {
        self.sum(CountedEvent::Gathered)
    }

    /// The procedures that were called, with their counts.
    pub fn procedures(&self) -> Vec<ProcedureCount> {
        let of = |version: usize, procedure: usize| -> u64 {
            self.workers.iter().map(|worker| worker.calls[version][procedure].load(Ordering::Relaxed)).sum()
        };
        let mut counts = Vec::new();
        for (index, (program, number, version)) in VERSIONS.iter().enumerate() {
            for procedure in 0..MAX_PROCEDURES {
                let calls = of(index, procedure);
                if calls > 0 {
                    let (number, version, procedure) = (*number, *version, procedure as u32);
                    counts.push(ProcedureCount { program, number, version, procedure, calls });
                }
            }
        }
        counts
    }
}

impl WorkerCounters {
    fn event(&self, event: CountedEvent) -> &AtomicU64 {
        match event {
            CountedEvent::Rejected => &self.rejected,
            CountedEvent::NotACall => &self.not_calls,
            CountedEvent::Replayed => &self.replayed,
            CountedEvent::Dropped => &self.dropped,
            CountedEvent::Deferred => &self.deferred,
            CountedEvent::Gathered => &self.gathered,
        }
    }
}
