//! Runs the sender over a TAP device, with this machine's kernel as the receiver.
//!
//! The device is in a temporary network namespace; nothing else of the machine is affected. The receiver is in the same
//! network, at the other end of a wire of a given speed, or on a [`ReceivingHost`] there. The sender hands
//! super-segments of up to 64 KiB to the kernel, as if a network card with segmentation offload had received and merged
//! them.

mod capture;
mod host;
mod receiver;
mod tap;
mod wire;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use measure::ProcessorTicks;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::Faults;
use crate::kernel::{busy_between, machine_ticks, thread_time};
use crate::link::{
    HERE, Link, LinkError, LinkOptions, PREFIX, THERE, THERE_MAC, join_bridge, own_network, sent_frames,
};
use crate::sender::{Config, Failure, Sender, Statistics, TcpState, Transmit};
use crate::stream;
use crate::trace::Tally;
use capture::Capture;
pub use host::{ReceiveOptions, ReceiverProcess, ReceivingHost, receive};
use receiver::{Received, Receiver};
use tap::Tap;
use wire::{Ends, Incoming, MAX_FRAME_BYTES};

const USER_PORT: u16 = 40_000;
/// Our address, from the locally administered range.
const USER_MAC: [u8; 6] = [2, 0, 0, 77, 0, 2];
/// Bytes of headers in a packet, without options.
const HEADER_BYTES: u16 = 40;
/// The maximum size of a write.
const WRITE_BYTES: usize = 64 << 10;
/// How often the run checks whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// The maximum number of frames delayed by faults.
const MAX_DELAYED: usize = 4096;

/// The parameters of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The sender; its MSS follows from `mtu`.
    pub sender: Config,
    /// The maximum size of an IP packet on the device.
    pub mtu: u16,
    /// The kernel's receive buffer in bytes (SO_RCVBUF); its default without it.
    pub receive_buffer_bytes: Option<usize>,
    /// The rate of the receiving application in bytes per second; unlimited without it.
    pub read_bytes_per_second: Option<f64>,
    /// The maximum size of a read; above 0.
    pub read_bytes: usize,
    /// The maximum number of bytes to send.
    pub total_bytes: u64,
    /// The maximum time to send.
    pub duration: Option<Duration>,
    /// The speed of the wire to the receiver in bits per second. Without it there is no wire, and the receiver is right
    /// behind the device.
    pub wire_bits_per_second: Option<u64>,
    /// The file for a capture by tcpdump, if wanted.
    pub capture: Option<PathBuf>,
    /// Faults of frames in both directions; a super-segment is one frame.
    pub faults: Faults,
    /// The processors of the two ends; the scheduler's choice without it.
    pub places: Option<Places>,
    /// What chance follows from.
    pub seed: u64,
}

/// 8 MiB from a sender right in front of the receiver, without faults or limits.
impl Default for Options {
    fn default() -> Options {
        Options {
            sender: Config::default(),
            mtu: 1500,
            receive_buffer_bytes: None,
            read_bytes_per_second: None,
            read_bytes: 64 << 10,
            total_bytes: 8 << 20,
            duration: None,
            wire_bits_per_second: None,
            capture: None,
            faults: Faults::default(),
            places: None,
            seed: 1,
        }
    }
}

/// Where the two ends run: each on a processor of its own, if there are two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// The sender on the first processor, and the receiver on the second one.
    Straight,
    /// The other way round.
    Swapped,
}

impl Places {
    /// Moves this thread to the processor of one end.
    fn enter(places: Option<Places>, end: End) -> nix::Result<()> {
        Places::assign(places, end, 0)
    }

    /// Moves the thread with this number to the processor of one end; 0 is this thread.
    fn assign(places: Option<Places>, end: End, thread: u32) -> nix::Result<()> {
        let Some(places) = places else { return Ok(()) };
        let allowed = sched_getaffinity(Pid::from_raw(0))?;
        let mut processors = (0..CpuSet::count()).filter(|number| allowed.is_set(*number).unwrap_or(false));
        let (Some(first), Some(second)) = (processors.next(), processors.next()) else { return Ok(()) };
        let is_first = (places == Places::Straight) == (end == End::Sender);
        let mut only = CpuSet::new();
        only.set(if is_first { first } else { second })?;
        sched_setaffinity(Pid::from_raw(thread as i32), &only)
    }
}

/// An end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferResult {
    /// Data packets, as captured on the device.
    pub tally: Tally,
    /// What the sender did.
    pub statistics: Statistics,
    /// The MSS in bytes.
    pub mss: usize,
    /// The time from the SYN until the receiver had everything.
    pub elapsed: Duration,
    /// Bytes that the receiver read.
    pub received_bytes: u64,
    /// Received bytes with wrong values; anything but 0 is a bug in the sender.
    pub wrong_bytes: u64,
    /// Processor time of the sender's thread. It includes the kernel's work on received frames, which is done when a
    /// frame is handed over.
    pub sender_time: Duration,
    /// Processor time of the receiving thread or process; the kernel's thread of a [`ReceivingHost`] has its own.
    pub receiver_time: Duration,
    /// Processor time of the whole machine, in ticks of usually 10 ms, if the kernel reports it.
    pub machine_time: Option<Duration>,
    /// Frames that the sending end put on the wire, if there is one.
    pub frames: Option<u64>,
}

impl TransferResult {
    /// The rate of received data.
    pub fn bits_per_second(&self) -> f64 {
        self.received_bytes as f64 * 8.0 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Processor time of the sender in µs per KiB received.
    pub fn sender_us_per_kib(&self) -> f64 {
        self.us_per_kib(self.sender_time)
    }

    /// Processor time of the receiver in µs per KiB received.
    pub fn receiver_us_per_kib(&self) -> f64 {
        self.us_per_kib(self.receiver_time)
    }

    fn us_per_kib(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / (self.received_bytes as f64 / 1024.0).max(f64::MIN_POSITIVE)
    }
}

/// Reports the progress of a run, and stops it.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to stop early; data sent until then is completed and counted.
    pub stop: AtomicBool,
    /// Bytes that the receiver has read, or acknowledged if it is another process.
    pub received_bytes: AtomicU64,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Network namespaces and devices require privileges.
    #[error(
        "a TAP device in a network namespace needs the superuser's rights: run this with sudo, or, \
         where /dev/net/tun is open to everyone, as unshare -rn wharf …; wharf tcp model and wharf tcp trace need none"
    )]
    Permission,
    /// The kernel has no TAP devices.
    #[error("there is no /dev/net/tun: load the module with modprobe tun, or give the container the device")]
    NoTun,
    /// There is no wire.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The packets cannot be captured.
    #[error("cannot capture to {}: {said}", path.display())]
    Capture {
        /// Where to.
        path: PathBuf,
        /// The message of tcpdump or the system.
        said: String,
    },
    /// The device fails.
    #[error("the TAP device fails: {0}")]
    Device(#[source] io::Error),
    /// The receiver's socket fails.
    #[error("the receiver fails: {0}")]
    Receiver(#[source] io::Error),
    /// The connection ended early.
    #[error("{failure} ({received_bytes} bytes were received)")]
    Connection {
        /// Why.
        failure: Failure,
        /// How much was received.
        received_bytes: u64,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A mistake of ours.
    #[error("the thread of the run has ended early; this is a mistake in wharf, please report it")]
    Died,
}

/// Sends a stream to this machine's kernel, over a temporary device.
///
/// # Errors
/// Every [`Error`].
pub fn run(options: &Options, control: &Control) -> Result<TransferResult, Error> {
    run_in(options, control, || Network::new(options))
}

/// Sends a stream to a process of another host, which has its receive buffer, size of reads and place already. The wire
/// is that of the host.
///
/// # Errors
/// Every [`Error`].
pub fn run_to(
    host: &ReceivingHost,
    receiver: ReceiverProcess,
    options: &Options,
    control: &Control,
) -> Result<TransferResult, Error> {
    run_in(options, control, || Network::of_host(host, receiver, options))
}

fn run_in(
    options: &Options,
    control: &Control,
    network: impl FnOnce() -> Result<Network, Error> + Send,
) -> Result<TransferResult, Error> {
    // The namespace belongs to the thread. One that was created for the run ends with it.
    thread::scope(|scope| {
        let work = || Run::new(options, control, network()?)?.finish();
        let thread =
            thread::Builder::new().name("sender".to_owned()).spawn_scoped(scope, work).map_err(Error::Thread)?;
        thread.join().unwrap_or(Err(Error::Died))
    })
}

struct Run<'a> {
    options: &'a Options,
    control: &'a Control,
    tap: Tap,
    wire: Option<OnWire>,
    capture: Option<Capture>,
    receiver: ReceivingEnd,
    ends: Ends,
    sender: Sender,
    began: Instant,
    machine: Option<ProcessorTicks>,
    /// Processor time of this thread before the first packet.
    prepared: Duration,
    random: fastrand::Rng,
    written: u64,
    is_closed: bool,
    tally: Tally,
    delayed: BinaryHeap<Reverse<(Duration, Direction, Vec<u8>)>>,
    frame: Vec<u8>,
}

/// The device, the receiver and the faults between them.
struct Network {
    tap: Tap,
    wire: Option<OnWire>,
    receiver: ReceivingEnd,
    remote_mac: [u8; 6],
}

/// This end of a wire.
struct OnWire {
    /// The wire, if it is this run's own.
    _link: Option<Link>,
    /// What others have sent before.
    frames_before: u64,
}

enum ReceivingEnd {
    Thread(Receiver),
    Process(ReceiverProcess),
}

impl ReceivingEnd {
    fn address(&self) -> SocketAddrV4 {
        match self {
            ReceivingEnd::Thread(receiver) => receiver.address(),
            ReceivingEnd::Process(process) => process.address(),
        }
    }

    fn finish(self) -> Result<Received, Error> {
        match self {
            ReceivingEnd::Thread(receiver) => receiver.finish(),
            ReceivingEnd::Process(process) => process.finish(),
        }
    }
}

impl Network {
    /// Moves this thread to a new network, and creates them there.
    fn new(options: &Options) -> Result<Network, Error> {
        let Some(bits_per_second) = options.wire_bits_per_second else {
            own_network().map_err(tap::failed)?;
            let tap = Tap::new(Some((THERE, PREFIX)), options.mtu)?;
            let receiver = ReceivingEnd::Thread(Receiver::start(THERE, options)?);
            let remote_mac = tap.mac()?;
            return Ok(Network { tap, wire: None, receiver, remote_mac });
        };
        let link = Link::new(LinkOptions { bits_per_second, mtu: options.mtu })?;
        link.bridge()?;
        let receiver = ReceivingEnd::Thread(link.there(|| Receiver::start(THERE, options))??);
        Network::on_wire(Some(link), receiver, options)
    }

    /// Moves this thread to the other end of a host's wire.
    fn of_host(host: &ReceivingHost, receiver: ReceiverProcess, options: &Options) -> Result<Network, Error> {
        host.wire.enter_here()?;
        Network::on_wire(None, ReceivingEnd::Process(receiver), options)
    }

    fn on_wire(link: Option<Link>, receiver: ReceivingEnd, options: &Options) -> Result<Network, Error> {
        let tap = Tap::new(None, options.mtu)?;
        join_bridge(tap::NAME)?;
        let wire = Some(OnWire { _link: link, frames_before: sent_frames() });
        Ok(Network { tap, wire, receiver, remote_mac: THERE_MAC })
    }
}

/// Where a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    ToKernel,
    ToSender,
}

impl<'a> Run<'a> {
    fn new(options: &'a Options, control: &'a Control, network: Network) -> Result<Run<'a>, Error> {
        let Network { tap, wire, receiver, remote_mac } = network;
        // The receiver was started before, and has a place of its own.
        Places::enter(options.places, End::Sender).map_err(|errno| Error::Thread(errno.into()))?;
        let capture = options.capture.as_deref().map(|path| Capture::start(tap::NAME, path)).transpose()?;
        let local = SocketAddrV4::new(HERE, USER_PORT);
        let ends = Ends { local, remote: receiver.address(), local_mac: USER_MAC, remote_mac };
        let config = Config { mss: options.mtu.saturating_sub(HEADER_BYTES), ..options.sender.clone() };
        let mut random = fastrand::Rng::with_seed(options.seed);
        Ok(Run {
            options,
            control,
            tap,
            wire,
            capture,
            receiver,
            ends,
            sender: Sender::new(config, random.u32(..)),
            began: Instant::now(),
            machine: machine_ticks(),
            prepared: thread_time(),
            random,
            written: 0,
            is_closed: false,
            tally: Tally::default(),
            delayed: BinaryHeap::new(),
            frame: Vec::with_capacity(MAX_FRAME_BYTES),
        })
    }

    fn finish(mut self) -> Result<TransferResult, Error> {
        let mut buffer = vec![0; MAX_FRAME_BYTES];
        loop {
            self.receive_all(&mut buffer)?;
            self.sender.on_timeout(self.now());
            self.send_all()?;
            let received_bytes = self.received_bytes();
            self.control.received_bytes.store(received_bytes, Ordering::Relaxed);
            if let Some(failure) = self.sender.failure() {
                return Err(Error::Connection { failure, received_bytes });
            }
            if matches!(self.sender.state(), TcpState::TimeWait | TcpState::Closed) {
                return self.outcome();
            }
            self.tap.wait(self.pause())?;
        }
    }

    fn outcome(self) -> Result<TransferResult, Error> {
        let elapsed = self.began.elapsed();
        let machine_time = busy_between(self.machine, machine_ticks());
        let read = self.receiver.finish()?;
        self.capture.map_or(Ok(()), Capture::finish)?;
        Ok(TransferResult {
            tally: self.tally,
            statistics: self.sender.statistics(),
            mss: self.sender.mss(),
            elapsed,
            received_bytes: read.bytes,
            wrong_bytes: read.wrong_bytes,
            sender_time: thread_time().saturating_sub(self.prepared),
            receiver_time: read.time,
            machine_time,
            frames: self.wire.map(|wire| sent_frames().saturating_sub(wire.frames_before)),
        })
    }

    fn received_bytes(&self) -> u64 {
        match &self.receiver {
            ReceivingEnd::Thread(receiver) => receiver.received_bytes(),
            ReceivingEnd::Process(_) => {
                let buffered_bytes = self.options.sender.send_buffer_bytes.saturating_sub(self.sender.room());
                self.written.saturating_sub(buffered_bytes as u64)
            }
        }
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// The time until the next event.
    fn pause(&self) -> Duration {
        let delayed = self.delayed.peek().map(|Reverse((at, ..))| *at);
        let next = [self.sender.next_timeout(), delayed].into_iter().flatten().min();
        next.map_or(LOOK, |at| at.saturating_sub(self.now()).min(LOOK))
    }

    fn receive_all(&mut self, buffer: &mut [u8]) -> Result<(), Error> {
        while let Some(frame) = self.tap.receive(buffer)? {
            if self.options.faults == Faults::default() {
                self.take(frame)?;
            } else {
                self.delay(Direction::ToSender, frame);
            }
        }
        while let Some(Reverse((at, ..))) = self.delayed.peek()
            && *at <= self.now()
            && let Some(Reverse((_, direction, frame))) = self.delayed.pop()
        {
            match direction {
                Direction::ToKernel => self.tap.send(&frame)?,
                Direction::ToSender => self.take(&frame)?,
            }
        }
        Ok(())
    }

    fn take(&mut self, frame: &[u8]) -> Result<(), Error> {
        match self.ends.decode(frame) {
            Incoming::Segment(segment, data) => {
                let now = self.now();
                self.sender.on_segment(&segment, data, now);
                // The receiver sends only data that is dropped here; reading keeps the window open.
                while self.sender.read(&mut [0; 512]) > 0 {}
            }
            Incoming::Question(answer) => self.tap.send(&answer)?,
            Incoming::Other => {}
        }
        Ok(())
    }

    fn send_all(&mut self) -> Result<(), Error> {
        loop {
            let has_written = self.write();
            let now = self.now();
            match self.sender.poll_transmit(now) {
                Some(transmit) => self.send(&transmit)?,
                None if !has_written => return Ok(()),
                None => {}
            }
        }
    }

    fn send(&mut self, transmit: &Transmit) -> Result<(), Error> {
        let (front, back) = self.sender.payload(transmit);
        self.ends.encode(&transmit.segment, [front, back], transmit.offload_mss, &mut self.frame);
        self.tally.add(transmit.bytes, self.sender.mss());
        if self.options.faults == Faults::default() {
            return self.tap.send(&self.frame);
        }
        let frame = std::mem::take(&mut self.frame);
        self.delay(Direction::ToKernel, &frame);
        self.frame = frame;
        Ok(())
    }

    /// Decides about the faults of a frame.
    fn delay(&mut self, direction: Direction, frame: &[u8]) {
        let now = self.now();
        for late in self.options.faults.fate(&mut self.random) {
            if self.delayed.len() < MAX_DELAYED {
                self.delayed.push(Reverse((now + late, direction, frame.to_vec())));
            }
        }
    }

    /// Writes as much as fits; returns whether it wrote.
    fn write(&mut self) -> bool {
        if self.is_closed {
            return false;
        }
        let is_late = self.options.duration.is_some_and(|duration| self.now() >= duration);
        let left = self.options.total_bytes - self.written;
        if left == 0 || is_late || self.control.stop.load(Ordering::Relaxed) {
            self.sender.close();
            self.is_closed = true;
            return false;
        }
        let count = (self.sender.room() as u64).min(left).min(WRITE_BYTES as u64) as usize;
        let is_worth_it = count as u64 == left || count >= WRITE_BYTES.min(self.options.sender.send_buffer_bytes / 2);
        if count == 0 || !is_worth_it {
            return false;
        }
        let mut bytes = vec![0; count];
        stream::fill(self.written, &mut bytes);
        self.written += self.sender.write(&bytes) as u64;
        true
    }
}
