//! The end that loads.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::message::{self, Figures, Hello, MAX_HELLO_BYTES, MAX_ORDER_BYTES, MessageError, Order, Report, Welcome};
use super::{AgentError, Token};
use crate::bench::{self, Gate, Job, Stop};

/// How long a conductor may take to say who it is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// How often an agent at work says that it is alive.
const ALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time from an order to start to the start.
const MAX_LEAD: Duration = Duration::from_secs(60);

/// Does the jobs of conductors, of one after the other.
pub struct Agent {
    /// What a conductor must know.
    pub token: Token,
    /// The version that a conductor must have.
    pub version: String,
    /// Makes the job of this number of a command line, or says why there is none.
    pub make_job: fn(&[String], usize) -> Result<Job, String>,
    /// Ends the job at work.
    pub interruption: Interruption,
}

/// Ends the job of an agent at work. Clones end the same one.
#[derive(Clone, Default)]
pub struct Interruption(Arc<Mutex<Option<Stop>>>);

impl Interruption {
    /// Ends the job, if there is one; the agent removes its files.
    pub fn interrupt(&self) {
        locked(&self.0).iter().for_each(Stop::stop);
    }

    /// Whether a conductor is served.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        locked(&self.0).is_some()
    }
}

/// What happens with conductors.
#[derive(Debug)]
pub enum AgentEvent {
    /// One knows the token.
    Accepted(SocketAddr),
    /// The connection of one ended.
    Ended(SocketAddr, Result<(), AgentError>),
    /// A connection could not be accepted.
    Failed(io::Error),
}

impl Agent {
    /// Serves conductors for ever; `observe` learns what happens with each.
    pub fn serve(&self, listener: &TcpListener, observe: impl Fn(AgentEvent)) {
        let clock = Instant::now();
        loop {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let ended = self.serve_one(stream, clock, || observe(AgentEvent::Accepted(peer)));
                    observe(AgentEvent::Ended(peer, ended));
                }
                Err(error) => {
                    observe(AgentEvent::Failed(error));
                    // Without file descriptors, the next one would fail at once too.
                    thread::sleep(ALIVE_INTERVAL);
                }
            }
        }
    }

    fn serve_one(&self, stream: TcpStream, clock: Instant, accepted: impl Fn()) -> Result<(), AgentError> {
        stream.set_nodelay(true).map_err(MessageError::from)?;
        stream.set_read_timeout(Some(HELLO_TIMEOUT)).map_err(MessageError::from)?;
        stream.set_write_timeout(Some(HELLO_TIMEOUT)).map_err(MessageError::from)?;
        self.welcome(&stream)?;
        accepted();
        // From now on the conductor decides when there is something to do. One whose host is gone must not stay.
        stream.set_read_timeout(None).map_err(MessageError::from)?;
        rustix::net::sockopt::set_socket_keepalive(&stream, true).map_err(|errno| MessageError::Io(errno.into()))?;
        let (orders_in, orders) = channel();
        let (sending, orders, late) = (Mutex::default(), Mutex::new(orders), Mutex::default());
        let session = Arc::new(Session { stream, clock, sending, orders, late, stop: Stop::default() });
        *locked(&self.interruption.0) = Some(session.stop.clone());
        let ended = thread::scope(|scope| {
            scope.spawn(|| session.receive_orders(orders_in));
            let ended = session.follow(self);
            // Wakes the thread that receives orders; the connection may be closed already.
            let _ = session.stream.shutdown(Shutdown::Both);
            ended
        });
        *locked(&self.interruption.0) = None;
        ended
    }

    fn welcome(&self, stream: &TcpStream) -> Result<(), AgentError> {
        let Hello { version, token } = message::receive(stream, MAX_HELLO_BYTES)?;
        if !self.token.is(&token) {
            message::send(stream, &Welcome::WrongToken)?;
            return Err(AgentError::WrongToken);
        }
        if version != self.version {
            message::send(stream, &Welcome::OtherVersion(self.version.clone()))?;
            return Err(AgentError::OtherVersion(version));
        }
        Ok(message::send(stream, &Welcome::Accepted)?)
    }
}

/// A conductor that was accepted.
struct Session {
    stream: TcpStream,
    clock: Instant,
    /// Locked while a message is sent: three threads send.
    sending: Mutex<()>,
    orders: Mutex<Receiver<Order>>,
    /// How much later than ordered the last job started.
    late: Mutex<Duration>,
    /// Ends the job when the conductor says so or is gone, and when this agent is interrupted.
    stop: Stop,
}

impl Session {
    fn send(&self, report: &Report) -> Result<(), MessageError> {
        let _sending = locked(&self.sending);
        message::send(&self.stream, report)
    }

    /// Receives orders until the connection ends. The time is told at once, also while a job is prepared.
    fn receive_orders(&self, orders: Sender<Order>) {
        loop {
            let is_done = match message::receive(&self.stream, MAX_ORDER_BYTES) {
                Ok(Order::TellTime) => self.send(&Report::Time(self.clock.elapsed())).is_err(),
                Ok(order) => {
                    if let Order::Stop = order {
                        self.stop.stop();
                    }
                    // The job may wait for the order to start.
                    orders.send(order).is_err()
                }
                Err(_) => true,
            };
            if is_done {
                return self.stop.stop();
            }
        }
    }

    /// Does jobs until the connection ends.
    fn follow(self: &Arc<Self>, agent: &Agent) -> Result<(), AgentError> {
        while let Some(order) = self.next_order() {
            let (command_line, job, host) = match order {
                Order::Prepare { command_line, job, host } => (command_line, job, host),
                Order::Stop => return Err(AgentError::Interrupted),
                Order::TellTime | Order::Start { .. } => return Err(AgentError::Disorder),
            };
            let report = match (agent.make_job)(&command_line, job) {
                Ok(job) => self.work(job.for_host(host)),
                Err(why) => Report::Failed(why),
            };
            let sent = self.send(&report);
            if self.stop.is_stopped() {
                return Err(AgentError::Interrupted);
            }
            sent?;
        }
        Ok(())
    }

    fn next_order(&self) -> Option<Order> {
        locked(&self.orders).recv().ok()
    }

    /// Does a job, while another thread says that this agent is alive.
    fn work(self: &Arc<Self>, job: Job) -> Report {
        let session = Arc::clone(self);
        let gate = Gate(Arc::new(move || session.wait_for_start()));
        let job = Job { stop: self.stop.clone(), gate: Some(gate), ..job };
        thread::scope(|scope| {
            let (working, done) = channel::<()>();
            scope.spawn(move || {
                while done.recv_timeout(ALIVE_INTERVAL) == Err(RecvTimeoutError::Timeout)
                    && self.send(&Report::Alive).is_ok()
                {}
            });
            let result = bench::run(&job);
            drop(working);
            match result {
                Ok(result) => {
                    let first_error = result.first_error.map(|error| error.to_string());
                    Report::Found(Box::new(Figures::new(result.summary, *locked(&self.late), first_error)))
                }
                Err(error) => Report::Failed(error.to_string()),
            }
        })
    }

    /// Says that all is ready, and waits until it is time. False when the conductor is gone or wants something else.
    fn wait_for_start(&self) -> bool {
        if self.send(&Report::Ready).is_err() {
            return false;
        }
        let Some(Order::Start { at }) = self.next_order() else { return false };
        let lead = at.saturating_sub(self.clock.elapsed());
        if lead > MAX_LEAD {
            return false;
        }
        thread::sleep(lead);
        *locked(&self.late) = self.clock.elapsed().saturating_sub(at);
        true
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
