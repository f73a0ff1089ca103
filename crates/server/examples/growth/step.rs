//! What is counted: calls and events, one after the other.

use buffer::Output;
use proto::Operation;
use server::{Answer, Request, Server};

use testing::caller::Caller;

/// Where the status is in a reply, behind what RPC says (RFC 5531 §9) with an empty verifier.
const STATUS_AT: usize = 24;

/// Something that happens to a server.
pub enum Step<'s> {
    /// A call arrives at a worker.
    Call { caller: Caller<'s>, worker: usize, message: Vec<u8> },
    /// A client's connection ends.
    End(Caller<'s>),
}

/// The steps of a run.
pub struct Plan<'s> {
    /// What fills the caches.
    pub before: Vec<Step<'s>>,
    /// What is counted.
    pub counted: Vec<Step<'s>>,
    /// How many units of work each of these is.
    pub units: Vec<usize>,
}

impl<'s> Plan<'s> {
    /// A plan in which each counted step is one unit.
    pub fn of(before: Vec<Step<'s>>, counted: Vec<Step<'s>>) -> Plan<'s> {
        let units = vec![1; counted.len()];
        Plan { before, counted, units }
    }

    /// `round` makes the steps of one round, which runs twice.
    pub fn twice(mut round: impl FnMut() -> Vec<Step<'s>>) -> Plan<'s> {
        let before = round();
        Plan::of(before, round())
    }

    /// Runs what fills the caches and the first `times` of the counted steps, and returns how many units these are.
    pub fn run(&self, times: usize) -> usize {
        let mut output = Output::new();
        self.before.iter().for_each(|step| step.run(Server::answer, &mut output));
        all_counted(&self.counted[..times], &mut output);
        self.units[..times].iter().sum()
    }
}

/// Runs all steps that count. Callgrind finds the function by its name, and what is done outside of it does not count.
#[inline(never)]
fn all_counted(steps: &[Step<'_>], output: &mut Output) {
    steps.iter().for_each(|step| step.run(counted, output));
}

impl<'s> Step<'s> {
    /// A call of NFSv3 or MOUNT at the first worker.
    pub fn call<O: Operation>(caller: Caller<'s>, arguments: &O::Arguments<'_>) -> Step<'s> {
        Step::Call { caller, worker: 0, message: caller.message::<O>(arguments) }
    }

    /// The same step at another worker.
    pub fn at(self, worker: usize) -> Step<'s> {
        match self {
            Step::Call { caller, message, .. } => Step::Call { caller, worker, message },
            Step::End(caller) => Step::End(caller),
        }
    }

    /// Runs the step as the event loop does: a call that would block is answered again by a thread that may.
    fn run(&self, answer: fn(&Server, &Request<'_>, &mut Output) -> Answer, output: &mut Output) {
        let (caller, worker, message) = match self {
            Step::Call { caller, worker, message } => (caller, *worker, message),
            Step::End(caller) => return counted_end(caller),
        };
        let start = output.mark();
        let request = |may_block| Request {
            message,
            peer: caller.peer,
            worker,
            may_block,
            now: caller.now,
            batch: None,
            is_scarce: false,
        };
        let mut said = answer(caller.server, &request(false), output);
        if matches!(said, Answer::WouldBlock(_)) {
            said = answer(caller.server, &request(true), output);
        }
        assert_eq!(said, Answer::Reply);
        assert_eq!(output.bytes.as_slice()[STATUS_AT..STATUS_AT + 4], [0; 4], "the call failed");
        output.rewind(&start);
    }
}

/// Answers a call that counts. Callgrind finds the function by its name.
#[inline(never)]
fn counted(server: &Server, request: &Request<'_>, output: &mut Output) -> Answer {
    server.answer(request, output)
}

/// Ends a connection, which counts.
#[inline(never)]
fn counted_end(caller: &Caller<'_>) {
    caller.server.disconnected(&caller.peer, true, caller.now);
}
