//! Counters of a server's work, for the log.

use daemon::Daemon;
use fs_host::{FlushCounts, ReadAheadMode};
use net::Counters;
use stable::Status;

/// Logs the counters since the start: the most important ones at level info, others at level debug.
pub fn log(daemon: &Daemon, read_ahead: &ReadAheadMode, event: &str) {
    let counters = daemon.net_counters();
    let (server, files) = (daemon.server(), daemon.server().open_files());
    log_work(&counters, files.misses, event);
    log_sends(&counters);
    tracing::debug!(
        open = files.open,
        hits = files.hits,
        misses = files.misses,
        evicted = files.evicted,
        idle = files.idle,
        purged = files.purged,
        "the cache of open files"
    );
    tracing::debug!(gathered_writes = server.counters().gathered(), "WRITEs combined with the previous one");
    if let ReadAheadMode::Streams(read_ahead) = read_ahead {
        let counts = read_ahead.counts();
        tracing::debug!(
            found = counts.found,
            bytes = counts.bytes,
            dropped = counts.dropped,
            "streams that were read ahead"
        );
    }
}

/// Logs the flushes to stable storage, and how calls shared them.
pub fn log_flushes(counts: FlushCounts) {
    tracing::info!(
        calls = counts.calls,
        flushes = counts.flushes,
        groups = counts.groups,
        largest_group = counts.largest_group,
        waits = counts.waits,
        timeouts = counts.timeouts,
        "group commit"
    );
}

/// Logs size, age and counters of the write log.
pub fn log_write_log(status: &Status) {
    tracing::info!(
        used_bytes = status.used_bytes,
        room_bytes = status.room_bytes,
        oldest_age_ms = status.oldest_age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        records = status.records,
        batches = status.batches,
        largest_group = status.largest_group,
        stalls = status.stalls,
        failed = status.failed,
        "write log"
    );
}

/// Logs the counters of the event loops, and how many files were opened. Counters of problems, and of copies that no
/// usual server makes, are only logged if they are not zero.
fn log_work(counters: &Counters, opened_files: u64, event: &str) {
    let if_any = |count: u64| (count > 0).then_some(count);
    tracing::info!(
        connections = counters.accepted,
        calls = counters.messages,
        received_bytes = counters.bytes_in,
        sent_bytes = counters.bytes_out,
        opened_files,
        refused = if_any(counters.refused),
        accept_errors = if_any(counters.accept_errors),
        closed_broken = if_any(counters.closed_broken),
        closed_bad_frame = if_any(counters.closed_bad_frame),
        closed_by_service = if_any(counters.closed_by_service),
        closed_idle = if_any(counters.closed_idle),
        closed_file_error = if_any(counters.closed_file_error),
        closed_panic = if_any(counters.closed_panic),
        datagrams_dropped = if_any(counters.datagrams_dropped),
        flattened_replies = if_any(counters.flattened),
        copied_bytes = if_any(counters.bytes_copied),
        "{event}"
    );
}

fn log_sends(counters: &Counters) {
    tracing::debug!(
        sends = counters.sends,
        segments = counters.send_segments,
        sendfiles = counters.sendfiles,
        sendfile_bytes = counters.sendfile_bytes,
        fetched_bytes = counters.fetched_bytes,
        zero_bytes = counters.zero_bytes,
        datagrams = counters.datagrams,
        sleeps = counters.sleeps,
        deferred = counters.deferred,
        "what the event loops did"
    );
}
