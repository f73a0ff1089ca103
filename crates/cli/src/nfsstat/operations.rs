//! A line per procedure with counts, bytes, errors and times.

use std::fmt::Write;
use std::time::Duration;

use client::{Histogram, ProcedureStatistics, Statistics};

/// The table of procedures, and of operations in COMPOUNDs. Times are in microseconds.
pub fn text(statistics: &Statistics) -> String {
    let mut text = String::new();
    // A String takes everything.
    let _ = writeln!(
        text,
        "{:<24}{:>10}{:>8}{:>8}{:>9}{:>14}{:>14}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "Procedure",
        "Calls",
        "Errors",
        "Retrans",
        "TimedOut",
        "BytesSent",
        "BytesRecv",
        "Queue",
        "p50",
        "p99",
        "Wire",
        "p50",
        "p99",
        "Total",
        "p50",
        "p99",
    );
    for (procedure, counted) in statistics.procedures() {
        let program = procedure.version().map_or(procedure.program().to_owned(), |version| format!("v{version}"));
        let _ = writeln!(text, "{:<24}{}", format!("{program} {}", procedure.name()), line(counted));
    }
    if statistics.operations().next().is_some() {
        let _ = writeln!(text, "{:<24}{:>10}{:>8}", "Operation of COMPOUND", "Calls", "Errors");
    }
    for (name, counted) in statistics.operations() {
        let _ = writeln!(text, "{name:<24}{:>10}{:>8}", counted.calls, counted.errors);
    }
    text
}

fn line(counted: &ProcedureStatistics) -> String {
    let ProcedureStatistics { calls, errors, retransmissions, timeouts, sent_bytes, received_bytes, .. } = counted;
    let times = [&counted.queue, &counted.wire, &counted.total].map(times).concat();
    format!("{calls:>10}{errors:>8}{retransmissions:>8}{timeouts:>9}{sent_bytes:>14}{received_bytes:>14}{times}")
}

fn times(of: &Histogram) -> String {
    let us = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e6);
    format!("{:>9}{:>9}{:>9}", us(of.mean()), us(of.quantile(0.5)), us(of.quantile(0.99)))
}

#[cfg(test)]
mod tests {
    use client::{Counters, OperationCounters, Procedure};

    use super::*;

    #[test]
    fn procedure_has_its_counts_and_its_times_in_one_line() {
        let mut counted = ProcedureStatistics {
            calls: 4,
            replies: 4,
            errors: 1,
            retransmissions: 2,
            timeouts: 3,
            ..Default::default()
        };
        (counted.sent_bytes, counted.received_bytes) = (480, 16_800);
        [10, 20, 30, 40].into_iter().for_each(|us| {
            counted.queue.record(Duration::from_micros(us / 10));
            counted.wire.record(Duration::from_micros(us));
            counted.total.record(Duration::from_micros(us + us / 10));
        });
        let mut statistics = Statistics::default();
        statistics.rpc = Counters { calls: 4, ..Counters::default() };
        statistics.add_procedure(Procedure::named("NFS", Some(4), "READ").unwrap(), &counted);
        statistics.add_operation_named("PUTFH", OperationCounters { calls: 4, errors: 1 });
        let expected = "\
Procedure                    Calls  Errors Retrans TimedOut     BytesSent     BytesRecv    Queue      p50      p99     Wire      p50      p99    Total      p50      p99
v4 READ                          4       1       2        3           480         16800      2.5      2.0      4.0     25.0     19.5     38.9     27.5     21.5     43.0
Operation of COMPOUND        Calls  Errors
PUTFH                            4       1
";
        assert_eq!(text(&statistics), expected);
    }
}
