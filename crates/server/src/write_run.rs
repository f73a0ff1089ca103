//! Runs of WRITEs: messages that arrived together and run as one.

use std::cell::Cell;

use buffer::Output;
use rpc::{Call, Reply};
use xdr::Encoder;

use crate::counters::CountedEvent;
use crate::fault::Fault;
use crate::identity::Identity;
use crate::node::CallContext;
use crate::request::Request;
use crate::server::Server;
use crate::v3::gather::{self, Gathered};

/// The result of a run.
#[derive(Debug)]
pub enum RunAnswer {
    /// The first messages of the run, at least one, are done; the others must be answered one by one.
    Written(Box<WrittenRun>),
    /// All messages must be answered one by one. Some of their bytes may already be written, which is harmless.
    OneByOne,
    /// The run would block: ask again from a thread that may. Nothing has happened. The number is that of
    /// [`Answer::WouldBlock`](crate::Answer::WouldBlock).
    WouldBlock(u64),
}

/// WRITEs that ran as one.
#[derive(Debug)]
pub struct WrittenRun(Gathered);

impl WrittenRun {
    /// The number of messages that are done, from the first on.
    pub fn count(&self) -> usize {
        self.0.count
    }

    /// Appends the reply to the message at `index` of the run, without a record mark.
    ///
    /// # Panics
    /// When `message` is not the one that was carried out.
    pub fn answer(&self, index: usize, message: &[u8], output: &mut Output) {
        let call = Call::parse(message).expect("a message of a run is a call");
        let mut to = Encoder::new(&mut output.bytes);
        Reply::encode_success(call.xid, &mut to);
        self.0.encode(index, message, &mut to);
    }
}

/// The offset of the data in a WRITE of NFSv3, which may be incomplete; 0 if it cannot be determined.
pub fn write_data_at(message: &[u8]) -> usize {
    gather::data_at(message).unwrap_or(0)
}

impl Server {
    /// Whether a message may be the first of a run.
    pub fn begins_run(&self, message: &[u8]) -> bool {
        self.settings.gather_writes && gather::is_write(message)
    }

    /// Whether `next` may run together with `previous`.
    pub fn continues_run(&self, previous: &[u8], next: &[u8]) -> bool {
        self.settings.gather_writes && gather::continues(previous, next)
    }

    /// Executes a run, each message of which continues the one before it. The message of `request` is its first.
    pub fn write_run(&self, request: &Request<'_>, run: &[&[u8]]) -> RunAnswer {
        let Ok(call) = Call::parse(request.message) else { return RunAnswer::OneByOne };
        let Ok(identity) = Identity::of(&call) else { return RunAnswer::OneByOne };
        let exports = self.exports.load();
        let waits_for = Cell::new(0);
        let context = CallContext { server: self, request, exports: &exports, identity, begun: None, waits_for };
        match gather::write(&context, run) {
            Ok(gathered) => {
                for _ in 0..gathered.count {
                    self.counters.count_call(request.worker, &call.procedure);
                }
                self.counters.count_many(request.worker, CountedEvent::Gathered, gathered.count as u64 - 1);
                RunAnswer::Written(Box::new(WrittenRun(gathered)))
            }
            Err(Fault::Defer) => {
                self.counters.count_many(request.worker, CountedEvent::Deferred, run.len() as u64);
                RunAnswer::WouldBlock(context.waits_for.get())
            }
            Err(_) => RunAnswer::OneByOne,
        }
    }
}
