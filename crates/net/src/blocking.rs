//! The threads that answer calls that have to wait, and read what a loop cannot send without waiting.
//!
//! They are few. The first one starts with the server, so that a call that waits is answered though the system allows
//! no further thread. The others start when they are needed, and end when they had nothing to do for a while, so that
//! their memory is given back. In which order they take the calls, `lanes` says.
//! Their queue needs no limit of its own: each connection and each loop's datagrams have one for what they put in.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use buffer::Buffer;
use rustix::io::Errno;

use crate::answer::ask;
use crate::budget::MemoryCharge;
use crate::complaints::{Complaint, NOBODY};
use crate::hub::Engine;
use crate::jobs::{BlockingJob, CallJob, DoneJob, FetchJob, Fetched};
use crate::mailbox::LoopMessage;
use crate::{Call, Service};

/// Hands a job to the blocking threads of `engine`, starting one more when all are busy and more are allowed.
pub(crate) fn submit<S: Service + ?Sized>(engine: &Arc<Engine<S>>, job: BlockingJob) {
    if let Some(number) = engine.hub.jobs.push(job) {
        try_to_start_thread(engine, number);
    }
}

/// Starts the first thread.
pub(crate) fn start_first<S: Service + ?Sized>(engine: &Arc<Engine<S>>) -> io::Result<()> {
    let number = engine.hub.jobs.first_thread();
    start_thread(engine, number).inspect_err(|_| engine.hub.jobs.thread_not_started())
}

fn try_to_start_thread<S: Service + ?Sized>(engine: &Arc<Engine<S>>, number: usize) {
    if let Err(error) = start_thread(engine, number) {
        // The job stays in the queue: a thread that runs takes it, the first one at the latest.
        engine.hub.jobs.thread_not_started();
        if engine.hub.complaints.is_new(NOBODY, Complaint::NoThread, Instant::now()) {
            tracing::error!(
                %error,
                "cannot start a thread, and calls that wait for storage take longer; raise the limit of processes \
                 (ulimit -u, or LimitNPROC= and TasksMax= of the systemd service)"
            );
        }
    }
}

fn start_thread<S: Service + ?Sized>(engine: &Arc<Engine<S>>, number: usize) -> io::Result<()> {
    let (engine, hub) = (Arc::clone(engine), Arc::clone(&engine.hub));
    thread::Builder::new().name(format!("blocking-{number}")).spawn(move || {
        do_jobs(engine, number);
        hub.jobs.thread_gone();
    })?;
    Ok(())
}

/// Takes jobs until the thread has to end, and lets go of the service.
fn do_jobs<S: Service + ?Sized>(engine: Arc<Engine<S>>, number: usize) {
    let worker = engine.hub.loops.len() + number % engine.hub.limits.blocking_workers();
    let mut finished = None;
    while let Some((job, one_more)) = engine.hub.jobs.take(finished) {
        if let Some(number) = one_more {
            try_to_start_thread(&engine, number);
        }
        finished = Some(job.lane());
        let (loop_index, message) = match job {
            BlockingJob::Call(job) => (job.loop_index, LoopMessage::Done(perform(&engine, worker, job))),
            BlockingJob::Fetch(job) => (job.loop_index, LoopMessage::Fetched(fetch(&job))),
        };
        engine.hub.loops[loop_index].mailbox.post(message);
    }
}

fn fetch(job: &FetchJob) -> Fetched {
    let mut bytes = Buffer::with_capacity(job.length);
    let result = loop {
        match rustix::io::pread(job.file.as_fd(), &mut *bytes.space(job.length), job.offset_bytes) {
            Ok(count) => break Ok(count),
            Err(Errno::INTR) => {}
            Err(error) => break Err(error),
        }
    };
    let bytes = result.map(|count| {
        bytes.advance(count);
        bytes
    });
    Fetched { key: job.key, bytes: bytes.map_err(io::Error::from) }
}

fn perform<S: Service + ?Sized>(engine: &Engine<S>, worker: usize, job: CallJob) -> DoneJob {
    let CallJob { origin, lane, peer, client, messages, received, mut output, .. } = job;
    let run: Vec<&[u8]> = messages.iter().map(Buffer::as_slice).collect();
    // While the call waited, the replies to others may have taken up what its client may have.
    let is_scarce = client.as_ref().is_some_and(|client| !client.has_room());
    let call = Call { message: run[0], peer, worker, may_block: true, now: received, batch: None, is_scarce };
    let asked = ask(&*engine.service, &call, &run[1..], &mut output);
    let charge = client.map(|client| MemoryCharge::of(&client, output.bytes.capacity()));
    DoneJob { origin, lane, peer, messages, output, asked, charge }
}
