//! Logs the grace period after a restart: which clients new opens and locks wait for, how long, and how it ends.

use std::fmt::Write;
use std::time::Duration;

use server::Server;
use state::{GraceReport, RecordKind};

/// How often the log repeats which clients the server waits for.
const INTERVAL: Duration = Duration::from_secs(15);
/// The maximum number of clients that it names.
const MOST_NAMES: usize = 8;
/// The maximum length of a name in bytes, because clients choose their names.
const MOST_NAME_BYTES: usize = 96;

/// The state of the log about the grace period.
#[derive(Debug)]
pub(crate) struct GraceLog {
    /// How an administrator ends the grace period.
    how_to_end: Option<String>,
    /// The last report, and when it was logged.
    last: Option<(GraceReport, Duration)>,
}

impl GraceLog {
    pub(crate) fn new(how_to_end: Option<String>) -> GraceLog {
        GraceLog { how_to_end, last: None }
    }

    /// Logs what has changed.
    pub(crate) fn look(&mut self, server: &Server, now: Duration) {
        match (server.grace_report(now, MOST_NAMES), &mut self.last) {
            (None, None) => {}
            (None, Some((last, _))) => {
                say_end(last);
                self.last = None;
            }
            (Some(report), Some((last, said))) if *said + INTERVAL > now => *last = report,
            (Some(report), _) => {
                self.say(&report);
                self.last = Some((report, now));
            }
        }
    }

    fn say(&self, report: &GraceReport) {
        let how_to_end = self.how_to_end.as_deref().unwrap_or("Server::end_grace");
        tracing::warn!(
            clients = report.waiting_for,
            "after the restart, new opens and locks wait up to {} s for clients to reclaim theirs: {}; {how_to_end} \
             ends the wait, and these clients lose their opens and locks",
            whole_seconds(report.ends_in),
            names(report)
        );
    }
}

/// The seconds of a wait, of which the last one counts as whole.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// At the end, clients that were still waited for have not reclaimed.
fn say_end(last: &GraceReport) {
    if last.waiting_for > 0 && last.ends_in <= Duration::from_secs(2) {
        tracing::warn!(
            clients = last.waiting_for,
            "the grace period is over; these clients have not finished \
                                                    reclaiming: {}",
            names(last)
        );
    } else {
        tracing::info!("the grace period is over: new opens and locks are granted");
    }
}

/// The names of the first clients.
fn names(report: &GraceReport) -> String {
    let mut text = String::new();
    for (kind, name) in &report.names {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{}", client(*kind, name));
    }
    let more = report.waiting_for.saturating_sub(report.names.len());
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

fn client(kind: RecordKind, name: &[u8]) -> String {
    let shown = |name: &[u8]| name[..name.len().min(MOST_NAME_BYTES)].escape_ascii().to_string();
    match kind {
        RecordKind::V40 => format!("NFSv4.0 client \"{}\"", shown(name)),
        RecordKind::V41 => format!("NFSv4.1 or 4.2 client \"{}\"", shown(name)),
        RecordKind::Nlm => match server::lock_host(name) {
            Some((address, name)) => format!("NFSv3 client \"{}\" at {address}", shown(name)),
            None => format!("NFSv3 client \"{}\"", shown(name)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_of_less_than_a_second_is_not_said_to_be_none() {
        assert_eq!([0, 1, 999, 1000, 1001].map(|ms| whole_seconds(Duration::from_millis(ms))), [0, 1, 1, 1, 2]);
    }

    #[test]
    fn clients_are_named_and_counted_and_their_names_do_no_harm() {
        let names_of = |known: Vec<(RecordKind, Box<[u8]>)>, waiting_for| {
            names(&GraceReport { ends_in: Duration::from_secs(90), waiting_for, names: known })
        };
        let host = [&[0; 10][..], &[0xff; 2], &[192, 0, 2, 7], &[0; 16], b"box"].concat();
        let known = vec![(RecordKind::V41, (*b"Linux\n\"").into()), (RecordKind::Nlm, host.into())];
        assert_eq!(
            names_of(known, 5),
            r#"NFSv4.1 or 4.2 client "Linux\n\"", NFSv3 client "box" at 192.0.2.7 and 3 more"#
        );
        let long = vec![(RecordKind::V40, vec![b'x'; 1024].into())];
        assert!(names_of(long, 1).len() < 150);
    }
}
