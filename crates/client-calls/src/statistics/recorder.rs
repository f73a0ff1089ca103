//! Records the calls of a connection, under the lock that the connection holds anyway.

use std::time::Duration;

use super::procedure::StatusPlace;
use super::{Label, OperationCounters, Procedure, ProcedureStatistics, Statistics};

/// Counts calls per procedure. A procedure's entry is made when its first call ends.
///
/// A call is counted when it ends; until then its [`Call`] has all data.
#[derive(Debug)]
pub(crate) struct CallRecorder {
    procedures: Box<[Option<Box<Tally>>]>,
    /// By number; empty until the first COMPOUND.
    operations: Vec<OperationCounters>,
    /// The length of the record mark before each message.
    mark_bytes: u64,
}

/// The counters of a procedure. Values that follow from others are computed on request.
#[derive(Debug, Default)]
struct Tally {
    /// Without the calls, the replies, their record marks and the sums of times.
    kept: ProcedureStatistics,
    /// Calls that ended without a reply.
    unanswered: u64,
    /// Sums of times.
    queue_ns: u64,
    wire_ns: u64,
}

/// The data of a call until it ends. Times are in nanoseconds from an arbitrary origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    label: Label,
    /// When the caller made it, possibly before there was a free place.
    pub(crate) asked_ns: u64,
    /// When it was first sent.
    sent_ns: u64,
    /// Bytes of all sends, with record marks.
    sent_bytes: u64,
    /// How often it was sent.
    pub(crate) sends: u32,
    /// How often it timed out.
    pub(crate) expiries: u32,
}

impl Call {
    pub(crate) fn new(label: Label, asked_ns: u64) -> Call {
        Call { label, asked_ns, sent_ns: 0, sent_bytes: 0, sends: 0, expiries: 0 }
    }

    /// Counts a send. Returns whether it is a retransmission.
    pub(crate) fn send(&mut self, now_ns: u64, bytes: usize) -> bool {
        self.sends += 1;
        self.sent_bytes += bytes as u64;
        let is_again = self.sends > 1;
        if !is_again {
            self.sent_ns = now_ns;
        }
        is_again
    }
}

impl CallRecorder {
    /// Counts calls over a transport with a mark of `mark_bytes` before each message.
    pub(crate) fn new(mark_bytes: usize) -> CallRecorder {
        let procedures = (0..Procedure::COUNT).map(|_| None).collect();
        CallRecorder { procedures, operations: Vec::new(), mark_bytes: mark_bytes as u64 }
    }

    /// Counts a call whose reply is `message`.
    #[inline(always)]
    pub(crate) fn answered(&mut self, call: &Call, replied_ns: u64, message: &[u8]) {
        let queue_ns = call.sent_ns.saturating_sub(call.asked_ns);
        let wire_ns = replied_ns.saturating_sub(call.sent_ns);
        let tally = self.ended(call);
        tally.kept.received_bytes += message.len() as u64;
        tally.queue_ns = tally.queue_ns.wrapping_add(queue_ns);
        tally.wire_ns = tally.wire_ns.wrapping_add(wire_ns);
        tally.kept.queue.count_ns(queue_ns);
        tally.kept.wire.count_ns(wire_ns);
        tally.kept.total.count_ns(queue_ns.wrapping_add(wire_ns));
        if !is_plain_success(message) {
            self.note_status(&call.label, message);
        }
    }

    /// Counts a call whose caller is gone, or whose reply is still to come.
    pub(crate) fn unanswered(&mut self, call: &Call) {
        self.ended(call).unanswered += 1;
    }

    /// Counts a call that will get no reply.
    pub(crate) fn failed(&mut self, call: &Call) {
        let tally = self.ended(call);
        tally.unanswered += 1;
        tally.kept.errors += 1;
    }

    /// Counts what all calls have in common, however they end.
    #[inline(always)]
    fn ended(&mut self, call: &Call) -> &mut Tally {
        if call.label.is_compound() {
            self.count_operations(&call.label);
        }
        let tally = self.procedures[call.label.procedure.place()].get_or_insert_with(Tally::new);
        tally.kept.sent_bytes += call.sent_bytes;
        if (call.sends, call.expiries) != (1, 0) {
            tally.note_trouble(call);
        }
        tally
    }

    #[inline(never)]
    fn count_operations(&mut self, label: &Label) {
        if self.operations.is_empty() {
            self.operations.resize(Procedure::OPERATIONS, OperationCounters::default());
        }
        for number in label.operations() {
            if let Some(operation) = self.operations.get_mut(usize::from(*number)) {
                operation.calls += 1;
            }
        }
    }

    /// Counts an error if the reply has one.
    #[cold]
    fn note_status(&mut self, label: &Label, message: &[u8]) {
        let results = results(message);
        let is_error = results.is_none_or(|results| match label.procedure.status_place() {
            StatusPlace::None => false,
            StatusPlace::First => word(results, 0) != Some(0),
            StatusPlace::BehindCookie => {
                let cookie_bytes = word(results, 0).unwrap_or(u32::MAX) as usize;
                word(results, 4 + cookie_bytes.next_multiple_of(4)) != Some(0)
            }
        });
        if let (true, Some(tally)) = (is_error, &mut self.procedures[label.procedure.place()]) {
            tally.kept.errors += 1;
        }
        if let (true, Some(results)) = (is_error, results) {
            self.note_operation_error(label, results);
        }
    }

    /// The last result of a COMPOUND is that of the failed operation.
    fn note_operation_error(&mut self, label: &Label, results: &[u8]) {
        let Some(tag_bytes) = word(results, 4) else { return };
        let count = word(results, 8 + (tag_bytes as usize).next_multiple_of(4)).unwrap_or(0);
        let failed = (count as usize).checked_sub(1).and_then(|place| label.operations().get(place));
        if let Some(operation) = failed.and_then(|number| self.operations.get_mut(usize::from(*number))) {
            operation.errors += 1;
        }
    }

    /// Adds everything to `statistics`.
    pub(crate) fn add_to(&self, statistics: &mut Statistics) {
        for (place, tally) in self.procedures.iter().enumerate() {
            if let Some(tally) = tally {
                statistics.add_procedure(Procedure::at(place), &tally.whole(self.mark_bytes));
            }
        }
        for (number, operation) in self.operations.iter().enumerate() {
            statistics.add_operation(number as u32, *operation);
        }
    }
}

impl Tally {
    #[cold]
    fn new() -> Box<Tally> {
        Box::default()
    }

    /// Counts retransmissions and timeouts.
    #[cold]
    fn note_trouble(&mut self, call: &Call) {
        self.kept.retransmissions += u64::from(call.sends.saturating_sub(1));
        self.kept.timeouts += u64::from(call.expiries);
    }

    /// The statistics with all computed values.
    fn whole(&self, mark_bytes: u64) -> ProcedureStatistics {
        let mut whole = self.kept.clone();
        whole.replies = whole.total.count();
        whole.calls = whole.replies + self.unanswered;
        whole.received_bytes += whole.replies * mark_bytes;
        whole.queue.add_sum(Duration::from_nanos(self.queue_ns));
        whole.wire.add_sum(Duration::from_nanos(self.wire_ns));
        whole.total.add_sum(whole.queue.sum() + whole.wire.sum());
        whole
    }
}

/// Whether a reply is of the usual form: accepted with an empty verifier, successful (RFC 5531 §9), and with a status
/// of 0 where procedures have one.
fn is_plain_success(message: &[u8]) -> bool {
    // The words: xid, type, reply status, the verifier's flavor and length, accept status, and the procedure's status.
    message.first_chunk::<28>().is_some_and(|head| head[8..12] == [0; 4] && head[16..] == [0; 12])
}

/// The results in a reply, or `None` if the call was not carried out (RFC 5531 §9).
fn results(message: &[u8]) -> Option<&[u8]> {
    const STATUS_AT: usize = 8;
    const VERIFIER_BYTES_AT: usize = 16;
    const VERIFIER_AT: usize = 20;
    if word(message, STATUS_AT)? != 0 {
        return None;
    }
    let verifier_bytes = word(message, VERIFIER_BYTES_AT)? as usize;
    let accept_at = verifier_bytes.checked_next_multiple_of(4)?.checked_add(VERIFIER_AT)?;
    (word(message, accept_at)? == 0).then(|| &message[accept_at + 4..])
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proto::nfs4::OpNumber;
    use proto::{nfs3, nlm};

    use super::super::label::CompoundLabel;
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn answered(recorder: &mut CallRecorder, label: &Label, message: &[u8]) {
        let mut call = Call::new(*label, 5_000);
        call.send(15_000, 100);
        recorder.answered(&call, 45_000, message);
    }

    fn snapshot(recorder: &CallRecorder) -> Statistics {
        let mut statistics = Statistics::default();
        recorder.add_to(&mut statistics);
        statistics
    }

    #[test]
    fn status_that_is_not_ok_and_refusal_of_the_call_are_errors() {
        let label = Label::of::<nfs3::Lookup>();
        let mut recorder = CallRecorder::new(4);
        let accepted = |accept: u32, status: u32| words(&[1, 1, 0, 1, 5, 0, 0, accept, status]);
        for (message, errors) in [
            (accepted(0, 0), 0),
            (accepted(0, 2), 1),
            (accepted(5, 0), 2),
            (words(&[1, 1, 1, 1, 1]), 3),
            (words(&[1, 1]), 4),
            (words(&[1, 1, 0, 0, u32::MAX, 0, 0]), 5),
        ] {
            answered(&mut recorder, &label, &message);
            assert_eq!(snapshot(&recorder).procedures().next().unwrap().1.errors, errors);
        }
    }

    #[test]
    fn reply_to_null_has_no_status() {
        let label = Label::of::<nfs3::Null>();
        let mut recorder = CallRecorder::new(4);
        answered(&mut recorder, &label, &words(&[1, 1, 0, 0, 0, 0]));
        assert_eq!(snapshot(&recorder).procedures().next().unwrap().1.errors, 0);
    }

    #[test]
    fn lock_that_is_denied_is_an_error_although_its_reply_begins_with_a_cookie() {
        let label = Label::of::<nlm::Lock<nlm::V4>>();
        let mut recorder = CallRecorder::new(4);
        for (cookie_and_status, errors) in [(&[3, 7, 0][..], 0), (&[8, 7, 7, 1], 1), (&[u32::MAX, 0], 2), (&[], 3)] {
            answered(&mut recorder, &label, &words(&[&[1, 1, 0, 0, 0, 0], cookie_and_status].concat()));
            assert_eq!(snapshot(&recorder).procedures().next().unwrap().1.errors, errors);
        }
    }

    #[test]
    fn times_are_split_where_the_call_was_sent() {
        let label = Label::of::<nfs3::Read>();
        let mut recorder = CallRecorder::new(4);
        answered(&mut recorder, &label, &words(&[1, 1, 0, 0, 0, 0, 0]));
        let statistics = snapshot(&recorder);
        let (_, read) = statistics.procedures().next().unwrap();
        let means = [&read.queue, &read.wire, &read.total].map(|times| times.mean().as_micros());
        assert_eq!(means, [10, 30, 40]);
        assert_eq!(read.queue.sum() + read.wire.sum(), read.total.sum());
        assert_eq!((read.sent_bytes, read.received_bytes), (100, 32));
    }

    #[test]
    fn failed_compound_is_the_error_of_its_last_operation() {
        let mut label = CompoundLabel::new();
        for operation in [OpNumber::Sequence, OpNumber::Putfh, OpNumber::Lookup, OpNumber::Getfh] {
            label.push(operation as u32);
        }
        let label = label.finish("LOOKUP");
        let mut recorder = CallRecorder::new(4);
        // The status is NOENT, the tag has one byte, and three operations were carried out.
        let message = words(&[1, 1, 0, 0, 0, 0, 2, 1, 0x6100_0000, 3]);
        answered(&mut recorder, &label, &message);
        let statistics = snapshot(&recorder);
        let errors = |operation: OpNumber| statistics.operation(operation).errors;
        assert_eq!([OpNumber::Putfh, OpNumber::Lookup, OpNumber::Getfh].map(errors), [0, 1, 0]);
        assert_eq!(statistics.operation(OpNumber::Getfh).calls, 1);
    }
}
