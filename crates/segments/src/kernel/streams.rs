//! The threads of a test, one for each connection.

use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use measure::{Histogram, ProcessorTicks};

use super::cpu::{busy_between, machine_ticks, thread_time};
use super::{End, Kind, MAX_DURATION, Test, socket};

/// How often a thread checks whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(20);
/// The time limit of a test including its shutdown.
const MAX_WHOLE: Duration = MAX_DURATION.saturating_add(Duration::from_secs(60));

/// The state that the threads of one end share.
pub(super) struct Shared<'a> {
    /// Senders are to stop.
    pub stop: &'a AtomicBool,
    /// Set when everything must end, because the other end has gone.
    pub abort: AtomicBool,
    /// Bytes in either direction.
    pub bytes: &'a AtomicU64,
    began: Instant,
}

/// What one connection did.
#[derive(Debug, Default)]
struct Done {
    sent_bytes: u64,
    received_bytes: u64,
    transactions: u64,
    elapsed: Duration,
    time: Duration,
    retransmissions: u64,
    latencies: Histogram,
    /// The use of the machine's processors when this connection was complete.
    machine: Option<ProcessorTicks>,
}

impl<'a> Shared<'a> {
    pub fn new(stop: &'a AtomicBool, bytes: &'a AtomicU64) -> Shared<'a> {
        Shared { stop, abort: AtomicBool::new(false), bytes, began: Instant::now() }
    }

    /// Whether a sender must continue.
    fn goes_on(&self, test: &Test) -> bool {
        let is_late = test.duration.is_some_and(|duration| self.began.elapsed() >= duration);
        !is_late && !self.stop.load(Ordering::Relaxed) && !self.abort.load(Ordering::Relaxed)
    }
}

/// Sums the results of an end's connections. `began` is the machine's use when they started.
fn sum(all: &[Done], began: Option<ProcessorTicks>) -> (End, Histogram) {
    let machine = all.iter().max_by_key(|done| done.elapsed).and_then(|done| done.machine);
    let mut latencies = Histogram::new();
    all.iter().for_each(|done| latencies.merge(&done.latencies));
    let end = End {
        sent_bytes: all.iter().map(|done| done.sent_bytes).sum(),
        received_bytes: all.iter().map(|done| done.received_bytes).sum(),
        elapsed: all.iter().map(|done| done.elapsed).max().unwrap_or_default(),
        transactions: all.iter().map(|done| done.transactions).sum(),
        process_time: all.iter().map(|done| done.time).sum(),
        machine_time: busy_between(began, machine),
        processors: machine.map_or(0, |ticks| ticks.processors),
        retransmissions: all.iter().map(|done| done.retransmissions).sum(),
    };
    (end, latencies)
}

/// Runs all connections of one end, each in a thread, and calls `meanwhile` repeatedly.
pub(super) fn run_all(
    test: &Test,
    streams: Vec<TcpStream>,
    is_starter: bool,
    shared: &Shared<'_>,
    mut meanwhile: impl FnMut(),
) -> io::Result<(End, Histogram)> {
    let began = machine_ticks();
    let ended = thread::scope(|scope| {
        let start = |(place, stream)| {
            let is_sender = test.goes_out(place) == is_starter;
            let (share, moved_at) = (test.share(place), Instant::now());
            let connection = Connection { stream, test, shared, share, is_sender, moved_at };
            thread::Builder::new().name("stream".to_owned()).spawn_scoped(scope, || {
                // A failure of one connection ends all.
                connection.run().inspect_err(|_| shared.abort.store(true, Ordering::Relaxed))
            })
        };
        let threads: Vec<_> = streams.into_iter().enumerate().map(start).collect();
        if threads.iter().any(Result::is_err) {
            shared.abort.store(true, Ordering::Relaxed);
        }
        while threads.iter().flatten().any(|thread| !thread.is_finished()) {
            meanwhile();
        }
        let joined = threads.into_iter().map(|thread| thread?.join().unwrap_or_else(|_| Err(gone())));
        // The first failure is not always the cause of the others; one with a system error is preferred.
        let (done, failed): (Vec<_>, Vec<_>) = joined.partition(Result::is_ok);
        let cause = failed.into_iter().filter_map(Result::err).max_by_key(|error| error.raw_os_error().is_some());
        cause.map_or_else(|| done.into_iter().collect::<io::Result<Vec<_>>>(), Err)
    });
    Ok(sum(&ended?, began))
}

/// One connection of a test.
struct Connection<'a> {
    stream: TcpStream,
    test: &'a Test,
    shared: &'a Shared<'a>,
    /// Its share of the total.
    share: Option<u64>,
    /// Whether this end sends the data or the requests.
    is_sender: bool,
    /// When something moved last.
    moved_at: Instant,
}

impl Connection<'_> {
    /// Runs the test to the end of the connection.
    fn run(mut self) -> io::Result<Done> {
        socket::prepare(&self.stream, LOOK, matches!(self.test.kind, Kind::Requests { .. }))?;
        let mut done = Done::default();
        match self.test.kind {
            Kind::Stream { message_bytes, .. } if self.is_sender => self.send(message_bytes, &mut done)?,
            Kind::Stream { read_bytes, .. } => self.receive(read_bytes, &mut done)?,
            Kind::Requests { request_bytes, response_bytes } if self.is_sender => {
                self.ask(request_bytes, response_bytes, &mut done)?;
            }
            Kind::Requests { request_bytes, response_bytes } => {
                self.answer(request_bytes, response_bytes, &mut done)?;
            }
        }
        done.elapsed = self.shared.began.elapsed();
        done.retransmissions = net::retransmissions(self.stream.as_fd())?.into();
        done.time = thread_time();
        done.machine = machine_ticks();
        Ok(done)
    }

    fn send(&mut self, message_bytes: usize, done: &mut Done) -> io::Result<()> {
        let mut message = vec![0; message_bytes];
        crate::stream::fill(0, &mut message);
        let mut left = self.share.unwrap_or(u64::MAX);
        let mut at: usize = 0;
        while left > 0 && self.shared.goes_on(self.test) {
            let end = message.len().min(at.saturating_add(usize::try_from(left).unwrap_or(usize::MAX)));
            let count = self.some(|stream| stream.write(&message[at..end]))?;
            let Some(count) = count else { break };
            at = (at + count) % message.len();
            left -= count as u64;
            done.sent_bytes += count as u64;
        }
        self.finish()
    }

    fn receive(&mut self, read_bytes: usize, done: &mut Done) -> io::Result<()> {
        let mut buffer = vec![0; read_bytes];
        loop {
            match self.some(|stream| stream.read(&mut buffer))? {
                Some(0) => return Ok(()),
                Some(count) => done.received_bytes += count as u64,
                None if self.shared.abort.load(Ordering::Relaxed) => return Err(gone()),
                // Only senders stop the test.
                None => {}
            }
        }
    }

    fn ask(&mut self, request_bytes: usize, response_bytes: usize, done: &mut Done) -> io::Result<()> {
        let mut request = vec![0; request_bytes];
        crate::stream::fill(0, &mut request);
        let mut response = vec![0; response_bytes];
        let most = self.share.unwrap_or(u64::MAX);
        while done.transactions < most && self.shared.goes_on(self.test) {
            let began = Instant::now();
            self.write_all(&request)?;
            if !self.read_all(&mut response)? {
                return Err(gone());
            }
            done.latencies.record(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
            done.transactions += 1;
            done.sent_bytes += request_bytes as u64;
            done.received_bytes += response_bytes as u64;
        }
        self.finish()
    }

    fn answer(&mut self, request_bytes: usize, response_bytes: usize, done: &mut Done) -> io::Result<()> {
        let mut request = vec![0; request_bytes];
        let mut response = vec![0; response_bytes];
        crate::stream::fill(0, &mut response);
        while self.read_all(&mut request)? {
            self.write_all(&response)?;
            done.transactions += 1;
            done.received_bytes += request_bytes as u64;
            done.sent_bytes += response_bytes as u64;
        }
        Ok(())
    }

    /// Shuts down the sending side and waits for the other side's end, so that all retransmissions are counted.
    fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let mut rest = [0; 512];
        while self.patient(|stream| stream.read(&mut rest))? > 0 {}
        Ok(())
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.patient(|stream| stream.write(bytes))?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Reads until the buffer is full; `false` at the end of the connection.
    fn read_all(&mut self, bytes: &mut [u8]) -> io::Result<bool> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.patient(|stream| stream.read(&mut bytes[filled..]))? {
                0 if filled == 0 => return Ok(false),
                0 => return Err(gone()),
                count => filled += count,
            }
        }
        Ok(true)
    }

    /// Repeats a call until it makes progress.
    fn patient(&mut self, mut call: impl FnMut(&mut TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match self.some(&mut call)? {
                Some(count) => return Ok(count),
                None if self.shared.abort.load(Ordering::Relaxed) => return Err(gone()),
                None => {}
            }
        }
    }

    fn check_time(&self) -> io::Result<()> {
        if self.moved_at.elapsed() >= SILENCE {
            let seconds = SILENCE.as_secs();
            return Err(Error::new(ErrorKind::TimedOut, format!("nothing has moved for {seconds} seconds")));
        }
        if self.shared.began.elapsed() >= MAX_WHOLE {
            return Err(Error::new(ErrorKind::TimedOut, "a test ends after an hour at most"));
        }
        Ok(())
    }

    /// Repeats a call until it makes progress, or returns `None` when the test must stop.
    fn some(&mut self, mut call: impl FnMut(&mut TcpStream) -> io::Result<usize>) -> io::Result<Option<usize>> {
        loop {
            match call(&mut self.stream) {
                Ok(count) => {
                    self.moved_at = Instant::now();
                    self.shared.bytes.fetch_add(count as u64, Ordering::Relaxed);
                    return Ok(Some(count));
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
            self.check_time()?;
            if !self.shared.goes_on(self.test) {
                return Ok(None);
            }
        }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "it closed the connection")
}
