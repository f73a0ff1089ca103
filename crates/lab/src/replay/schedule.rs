//! When the calls of a capture begin again. There is no clock here: times since the start come in as arguments.
//!
//! A call waits for the calls of its connection whose replies had been received when it was sent, and then as long as
//! the client did. It also waits for calls of other connections that made its file or changed its name before, and a
//! change of a name or a size for those that used it before.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::capture::Capture;

/// How fast a capture is replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Clients think as long as in the capture, divided by this number above 0.
    Times(f64),
    /// Clients do not think.
    Max,
}

/// The text is neither a number above 0 nor `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a number from 0.001 to 1000 is required, such as 1 or 2, or max for no pauses")]
pub struct PaceError;

impl FromStr for Pace {
    type Err = PaceError;

    fn from_str(text: &str) -> Result<Pace, PaceError> {
        match text.parse() {
            _ if text == "max" => Ok(Pace::Max),
            Ok(speed) if (0.001..=1000.0).contains(&speed) => Ok(Pace::Times(speed)),
            _ => Err(PaceError),
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pace::Times(speed) => speed.fmt(f),
            Pace::Max => f.write_str("max"),
        }
    }
}

impl Pace {
    fn scale(self, time: Duration) -> Duration {
        match self {
            Pace::Times(speed) => Duration::try_from_secs_f64(time.as_secs_f64() / speed).unwrap_or(Duration::MAX),
            Pace::Max => Duration::ZERO,
        }
    }
}

/// What is left to replay.
#[derive(Debug)]
pub(super) struct Schedule<'c> {
    capture: &'c Capture,
    pace: Pace,
    first_sent: Duration,
    /// Of each connection, how many calls were released and how many replies are in, in the capture's order.
    lines: Vec<Progress>,
    calls: Vec<State>,
    /// The calls of other connections that wait for a call.
    waiters: HashMap<u32, Vec<u32>>,
    due: BinaryHeap<Reverse<(Duration, u32)>>,
}

#[derive(Debug, Clone, Default)]
struct Progress {
    released: usize,
    replied: usize,
    /// The calls of other connections that wait for so many replies, in the order of these.
    barriers: VecDeque<(u32, u32)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    is_done: bool,
    /// For how many things it waits: its connection is one.
    waits: u16,
    due: Duration,
}

impl<'c> Schedule<'c> {
    pub(super) fn new(capture: &'c Capture, pace: Pace) -> Schedule<'c> {
        let mut schedule = Schedule {
            capture,
            pace,
            first_sent: capture.calls.iter().map(|call| call.sent).min().unwrap_or_default(),
            lines: vec![Progress::default(); capture.lines.len()],
            calls: vec![State { waits: 1, ..State::default() }; capture.calls.len()],
            waiters: HashMap::new(),
            due: BinaryHeap::new(),
        };
        for number in 0..capture.calls.len() as u32 {
            schedule.note_waits(number);
        }
        for line in 0..capture.lines.len() {
            schedule.release(line, Duration::ZERO);
        }
        schedule
    }

    /// Notes which calls of other connections a call waits for. All of them came before it.
    fn note_waits(&mut self, number: u32) {
        let call = &self.capture.calls[number as usize];
        let makers = call.op.files().into_iter().filter_map(|file| self.capture.tree[file].made_by);
        let mut earlier: Vec<u32> = makers.chain(call.after.iter().copied()).collect();
        earlier.sort_unstable();
        earlier.dedup();
        for before in earlier {
            let is_elsewhere = self.capture.calls[before as usize].connection != call.connection;
            if before < number && is_elsewhere {
                self.waiters.entry(before).or_default().push(number);
                self.calls[number as usize].waits += 1;
            }
        }
        for (line, replies) in call.barriers.iter().filter(|(_, replies)| *replies > 0) {
            self.lines[*line as usize].barriers.push_back((*replies, number));
            self.calls[number as usize].waits += 1;
        }
    }

    /// When the next call is due.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.due.peek().map(|Reverse((due, _))| *due)
    }

    /// The next call that is due by `now`, and when it was due.
    pub(super) fn next(&mut self, now: Duration) -> Option<(u32, Duration)> {
        if self.next_due()? > now {
            return None;
        }
        self.due.pop().map(|Reverse((due, number))| (number, due))
    }

    /// Notes that a call is over.
    pub(super) fn end(&mut self, number: u32, now: Duration) {
        self.calls[number as usize].is_done = true;
        for waiter in self.waiters.remove(&number).unwrap_or_default() {
            self.meet(waiter, now);
        }
        let line = self.capture.calls[number as usize].connection as usize;
        let replies = &self.capture.lines[line].replies;
        let progress = &mut self.lines[line];
        while replies.get(progress.replied).is_some_and(|call| self.calls[*call as usize].is_done) {
            progress.replied += 1;
        }
        let replied = progress.replied;
        while let Some((_, waiter)) =
            self.lines[line].barriers.pop_front_if(|(replies, _)| *replies as usize <= replied)
        {
            self.meet(waiter, now);
        }
        self.release(line, now);
    }

    /// Releases the calls of a connection that wait for no further reply of it.
    fn release(&mut self, line: usize, now: Duration) {
        let capture = self.capture;
        let replied = self.lines[line].replied;
        while let Some(number) = capture.lines[line].calls.get(self.lines[line].released)
            && let call = &capture.calls[*number as usize]
            && call.replies_before as usize <= replied
        {
            self.lines[line].released += 1;
            let last_reply = capture.last_reply_before(call);
            let thought = call.sent.saturating_sub(last_reply.unwrap_or(self.first_sent));
            let begin = if last_reply.is_some() { now } else { Duration::ZERO };
            self.meet(*number, begin.saturating_add(self.pace.scale(thought)));
        }
    }

    /// Notes that one of the things is there that a call waits for, so that the call is not due before `due`.
    fn meet(&mut self, number: u32, due: Duration) {
        let state = &mut self.calls[number as usize];
        state.due = state.due.max(due);
        state.waits -= 1;
        if state.waits == 0 {
            self.due.push(Reverse((state.due, number)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::capture::{Call, Line};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A capture of calls: of which connection, when they were sent, and when they were answered, in milliseconds.
    fn capture(calls: &[(u32, u64, Option<u64>)]) -> Capture {
        let mut capture = Capture::default();
        for (number, (connection, sent, replied)) in calls.iter().enumerate() {
            let lines = capture.lines.len().max(*connection as usize + 1);
            capture.lines.resize_with(lines, Line::default);
            capture.lines[*connection as usize].calls.push(number as u32);
            let before =
                |(other, _, at): &&(u32, u64, Option<u64>)| other == connection && at.is_some_and(|at| at <= *sent);
            let call = Call::of_nothing(*connection, ms(*sent), replied.map(ms));
            capture.calls.push(Call { replies_before: calls.iter().filter(before).count() as u32, ..call });
        }
        let mut replies: Vec<(u64, u32)> =
            calls.iter().enumerate().filter_map(|(number, call)| Some((call.2?, number as u32))).collect();
        replies.sort_unstable();
        for (_, number) in replies {
            let line = capture.calls[number as usize].connection as usize;
            capture.lines[line].replies.push(number);
        }
        capture
    }

    /// The calls that are due by a time, and when they were.
    fn due(schedule: &mut Schedule<'_>, now: u64) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| schedule.next(ms(now))).map(|(number, due)| (number, due.as_millis() as u64)).collect()
    }

    #[test]
    fn call_begins_after_those_it_waited_for_and_the_same_pause() {
        // Two are sent together, the third 5 ms after both replies; another one is sent before the second reply.
        let capture = capture(&[(0, 0, Some(10)), (0, 0, Some(20)), (0, 15, None), (0, 25, Some(30))]);
        let mut schedule = Schedule::new(&capture, Pace::Times(1.0));
        assert_eq!(due(&mut schedule, 0), [(0, 0), (1, 0)]);
        schedule.end(1, ms(3));
        assert_eq!(due(&mut schedule, 1000), [], "the third waits for the first, the fourth for both");
        schedule.end(0, ms(100));
        assert_eq!(due(&mut schedule, 104), []);
        assert_eq!(due(&mut schedule, 200), [(2, 105), (3, 105)]);
        assert_eq!(schedule.next_due(), None);
    }

    #[test]
    fn pauses_are_divided_or_left_out_and_connections_keep_their_distance() {
        let capture = capture(&[(0, 1000, Some(1010)), (1, 1300, Some(1310)), (0, 1410, Some(1420))]);
        for (pace, begins, again) in [(Pace::Times(1.0), 300, 405), (Pace::Times(2.0), 150, 205), (Pace::Max, 0, 5)] {
            let mut schedule = Schedule::new(&capture, pace);
            assert_eq!(due(&mut schedule, 1000), [(0, 0), (1, begins)], "{pace}");
            schedule.end(0, ms(5));
            assert_eq!(due(&mut schedule, 1000), [(2, again)], "{pace}");
        }
    }

    #[test]
    fn call_waits_for_the_change_of_its_name_on_another_connection() {
        let mut capture = capture(&[(0, 0, Some(10)), (1, 20, Some(30))]);
        capture.calls[1].after = [0].into();
        let mut schedule = Schedule::new(&capture, Pace::Max);
        assert_eq!(due(&mut schedule, 1000), [(0, 0)]);
        schedule.end(0, ms(50));
        assert_eq!(due(&mut schedule, 1000), [(1, 50)]);
    }

    #[test]
    fn change_waits_for_what_other_connections_did_before() {
        let mut capture = capture(&[(0, 0, Some(10)), (0, 0, Some(20)), (1, 30, Some(40))]);
        capture.calls[2].barriers = vec![(0, 2)];
        let mut schedule = Schedule::new(&capture, Pace::Max);
        assert_eq!(due(&mut schedule, 1000), [(0, 0), (1, 0)]);
        schedule.end(1, ms(50));
        assert_eq!(due(&mut schedule, 1000), []);
        schedule.end(0, ms(60));
        assert_eq!(due(&mut schedule, 1000), [(2, 60)]);
    }

    #[test]
    fn capture_without_times_is_replayed_in_its_order() {
        let mut capture = capture(&[(0, 0, None), (0, 0, None)]);
        for number in [0, 1] {
            capture.calls[number as usize] =
                Call { replies_before: number, ..Call::of_nothing(0, Duration::ZERO, Some(Duration::ZERO)) };
            capture.lines[0].replies.push(number);
        }
        let mut schedule = Schedule::new(&capture, Pace::Times(1.0));
        assert_eq!(due(&mut schedule, 0), [(0, 0)]);
        schedule.end(0, ms(7));
        assert_eq!(due(&mut schedule, 7), [(1, 7)]);
    }

    #[test]
    fn pace_is_a_number_or_max() {
        assert_eq!(["1", "0.5", "max"].map(|text| text.parse::<Pace>().unwrap().to_string()), ["1", "0.5", "max"]);
        assert!(["0", "-1", "inf", "NaN", "fast", ""].iter().all(|text| text.parse::<Pace>().is_err()));
        assert_eq!(Pace::Times(0.001).scale(Duration::MAX), Duration::MAX);
    }
}
