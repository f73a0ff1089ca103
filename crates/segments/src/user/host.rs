//! A receiving host of its own: the kernel's work on its frames, and a process that reads.
//!
//! Without one the sender's thread does the kernel's work on received frames. Here they wait at the end of a wire for a
//! thread of the kernel. That thread and the process are all that a segment costs the receiver, and can be limited
//! together.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicU64;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::receiver::{Reading, Received, SILENCE, listen};
use super::{End, Error, Places};
use crate::link::{LinkError, LinkOptions, THERE, Wire};

/// The maximum length of a line from the process.
const MAX_LINE_BYTES: u64 = 256;
/// How many bytes of each read are compared with those sent: enough to find shifted ones, and no work beside reading.
const CHECKED_BYTES: usize = 16;

/// A host at the other end of a wire. It ends with this.
#[derive(Debug)]
pub struct ReceivingHost {
    pub(super) wire: Wire,
    thread: u32,
}

/// How a process of the host receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveOptions {
    /// The kernel's receive buffer in bytes (SO_RCVBUF); its default without it.
    pub receive_buffer_bytes: Option<usize>,
    /// The maximum size of a read; above 0.
    pub read_bytes: usize,
}

/// A process that receives one stream. It ends with this.
pub struct ReceiverProcess {
    child: Child,
    output: BufReader<ChildStdout>,
    address: SocketAddrV4,
}

impl ReceivingHost {
    /// Creates one without processes.
    ///
    /// # Errors
    /// When the system does not allow it, or a program fails.
    pub fn new(options: LinkOptions) -> Result<ReceivingHost, LinkError> {
        let wire = Wire::bridged(options)?;
        let thread = wire.receive_in_thread()?;
        Ok(ReceivingHost { wire, thread })
    }

    /// The number of the kernel's thread that receives its frames.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Starts a process that listens here: `command` runs [`receive`] with its standard output. It and the kernel's
    /// thread take the place of the receiver.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(&self, command: &mut Command, places: Option<Places>) -> Result<ReceiverProcess, Error> {
        let spawn = || command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = self.wire.there(spawn)?.map_err(Error::Receiver)?;
        let output = child.stdout.take().map(BufReader::new).ok_or_else(|| Error::Receiver(ended_early()))?;
        let address = SocketAddrV4::new(THERE, 0);
        let mut process = ReceiverProcess { child, output, address };
        for number in [self.thread, process.id()] {
            Places::assign(places, End::Receiver, number).map_err(|errno| Error::Thread(errno.into()))?;
        }
        let port = process.line()?;
        process.address.set_port(port);
        Ok(process)
    }
}

impl ReceiverProcess {
    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// Waits for the end of the stream.
    pub(super) fn finish(mut self) -> Result<Received, Error> {
        let received = self.line()?;
        self.child.wait().map_err(Error::Receiver)?;
        Ok(received)
    }

    fn line<T: DeserializeOwned>(&mut self) -> Result<T, Error> {
        let mut line = String::new();
        let count = self.output.by_ref().take(MAX_LINE_BYTES).read_line(&mut line).map_err(Error::Receiver)?;
        if count == 0 {
            return Err(Error::Receiver(ended_early()));
        }
        serde_json::from_str(&line).map_err(|error| Error::Receiver(error.into()))
    }
}

impl Drop for ReceiverProcess {
    fn drop(&mut self) {
        // After its end these do nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Debug for ReceiverProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ReceiverProcess({}, {})", self.id(), self.address)
    }
}

/// Receives one stream in this process, for [`ReceivingHost::start`]: writes the port, and at the end the result.
///
/// # Errors
/// When the system refuses a socket, or nobody connects and sends for two minutes.
pub fn receive(options: ReceiveOptions, output: &mut impl Write) -> io::Result<()> {
    let listener = listen(THERE, options.receive_buffer_bytes)?;
    tell(output, &listener.local_addr()?.port())?;
    wait(&listener)?;
    let reading = Reading {
        received: AtomicU64::new(0).into(),
        bytes_per_second: None,
        read_bytes: options.read_bytes.max(1),
        checked_bytes: CHECKED_BYTES,
    };
    tell(output, &reading.to_end(listener.accept()?.0)?)
}

fn tell(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string(value)?)?;
    output.flush()
}

/// Waits for a connection. Without the process that started this one, there may never be one.
fn wait(listener: &TcpListener) -> io::Result<()> {
    let timeout = Timespec { tv_sec: SILENCE.as_secs() as i64, tv_nsec: 0 };
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout))? {
        0 => Err(ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

fn ended_early() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "its process has ended early")
}
