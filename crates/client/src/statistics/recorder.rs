//! What a connection records of its calls, under the lock that it holds anyway.

use std::time::Instant;

use super::histogram::nanoseconds;
use super::{Label, OperationCounters, Procedure, ProcedureStatistics, Statistics};

/// What was counted of each procedure. A procedure's part is made at its first call.
#[derive(Debug)]
pub(crate) struct CallRecorder {
    procedures: Box<[Option<Box<ProcedureStatistics>>]>,
    /// By number; empty until there is a COMPOUND.
    operations: Vec<OperationCounters>,
}

/// When what happened to a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) submitted: Instant,
    pub(crate) sent: Instant,
    pub(crate) replied: Instant,
}

impl CallRecorder {
    pub(crate) fn new() -> CallRecorder {
        CallRecorder { procedures: (0..Procedure::COUNT).map(|_| None).collect(), operations: Vec::new() }
    }

    fn procedure(&mut self, label: &Label) -> &mut ProcedureStatistics {
        self.procedures[label.procedure.place()].get_or_insert_default()
    }

    pub(crate) fn submitted(&mut self, label: &Label) {
        self.procedure(label).calls += 1;
        if label.operations().is_empty() {
            return;
        }
        if self.operations.is_empty() {
            self.operations.resize(Procedure::OPERATIONS, OperationCounters::default());
        }
        for number in label.operations() {
            if let Some(operation) = self.operations.get_mut(usize::from(*number)) {
                operation.calls += 1;
            }
        }
    }

    pub(crate) fn sent(&mut self, label: &Label, bytes: usize, is_again: bool) {
        let procedure = self.procedure(label);
        procedure.sent_bytes += bytes as u64;
        procedure.retransmissions += u64::from(is_again);
    }

    pub(crate) fn timed_out(&mut self, label: &Label) {
        self.procedure(label).timeouts += 1;
    }

    /// Counts a call that ended without a reply.
    pub(crate) fn failed(&mut self, label: &Label) {
        self.procedure(label).errors += 1;
    }

    /// Counts the reply to a call: a whole message, which took `bytes` on the wire.
    pub(crate) fn replied(&mut self, label: &Label, times: Times, message: &[u8], bytes: usize) {
        let queue_ns = nanoseconds(times.sent.saturating_duration_since(times.submitted));
        let wire_ns = nanoseconds(times.replied.saturating_duration_since(times.sent));
        let procedure = self.procedure(label);
        procedure.replies += 1;
        procedure.received_bytes += bytes as u64;
        procedure.queue.record_ns(queue_ns);
        procedure.wire.record_ns(wire_ns);
        procedure.total.record_ns(queue_ns.saturating_add(wire_ns));
        match results(message) {
            Some(results) if !label.procedure.has_status() || word(results, 0) == Some(0) => {}
            Some(results) => {
                procedure.errors += 1;
                self.note_operation_error(label, results);
            }
            None => procedure.errors += 1,
        }
    }

    /// The last operation of a COMPOUND that was carried out is the one that failed.
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
        for (place, procedure) in self.procedures.iter().enumerate() {
            if let Some(procedure) = procedure {
                statistics.add_procedure(Procedure::at(place), procedure);
            }
        }
        for (number, operation) in self.operations.iter().enumerate() {
            statistics.add_operation(number as u32, *operation);
        }
    }
}

/// The results in a reply, or `None` when the call was not carried out (RFC 5531 §9).
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
    use std::time::Duration;

    use proto::nfs3;
    use proto::nfs4::OpNumber;

    use super::super::label::CompoundLabel;
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn times() -> Times {
        let submitted = Instant::now();
        let sent = submitted + Duration::from_micros(10);
        Times { submitted, sent, replied: sent + Duration::from_micros(30) }
    }

    fn snapshot(recorder: &CallRecorder) -> Statistics {
        let mut statistics = Statistics::default();
        recorder.add_to(&mut statistics);
        statistics
    }

    #[test]
    fn status_that_is_not_ok_and_refusal_of_the_call_are_errors() {
        let label = Label::of::<nfs3::Lookup>();
        let mut recorder = CallRecorder::new();
        let accepted = |accept: u32, status: u32| words(&[1, 1, 0, 1, 5, 0, 0, accept, status]);
        for (message, errors) in [
            (accepted(0, 0), 0),
            (accepted(0, 2), 1),
            (accepted(5, 0), 2),
            (words(&[1, 1, 1, 1, 1]), 3),
            (words(&[1, 1]), 4),
            (words(&[1, 1, 0, 0, u32::MAX, 0, 0]), 5),
        ] {
            recorder.replied(&label, times(), &message, message.len());
            assert_eq!(snapshot(&recorder).procedures().next().unwrap().1.errors, errors);
        }
    }

    #[test]
    fn reply_to_null_has_no_status() {
        let label = Label::of::<nfs3::Null>();
        let mut recorder = CallRecorder::new();
        recorder.replied(&label, times(), &words(&[1, 1, 0, 0, 0, 0]), 24);
        assert_eq!(snapshot(&recorder).procedures().next().unwrap().1.errors, 0);
    }

    #[test]
    fn times_are_split_where_the_call_was_sent() {
        let label = Label::of::<nfs3::Read>();
        let mut recorder = CallRecorder::new();
        recorder.replied(&label, times(), &words(&[1, 1, 0, 0, 0, 0, 0]), 28);
        let statistics = snapshot(&recorder);
        let (_, read) = statistics.procedures().next().unwrap();
        let means = [&read.queue, &read.wire, &read.total].map(|times| times.mean().as_micros());
        assert_eq!(means, [10, 30, 40]);
    }

    #[test]
    fn failed_compound_is_the_error_of_its_last_operation() {
        let mut label = CompoundLabel::new();
        for operation in [OpNumber::Sequence, OpNumber::Putfh, OpNumber::Lookup, OpNumber::Getfh] {
            label.push(operation as u32);
        }
        let label = label.finish("LOOKUP");
        let mut recorder = CallRecorder::new();
        recorder.submitted(&label);
        // The status is NOENT, the tag has one byte, and three operations were carried out.
        let message = words(&[1, 1, 0, 0, 0, 0, 2, 1, 0x6100_0000, 3]);
        recorder.replied(&label, times(), &message, message.len());
        let statistics = snapshot(&recorder);
        let errors = |operation: OpNumber| statistics.operation(operation).errors;
        assert_eq!([OpNumber::Putfh, OpNumber::Lookup, OpNumber::Getfh].map(errors), [0, 1, 0]);
        assert_eq!(statistics.operation(OpNumber::Getfh).calls, 1);
    }
}
