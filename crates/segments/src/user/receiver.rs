//! The receiving end: a kernel socket in the network of the thread that starts it.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_recv_buffer_size;
use serde::{Deserialize, Serialize};

use super::{End, Error, Options, Places};
use crate::kernel::thread_time;
use crate::stream;

/// How long the receiver waits for a sender that has disappeared.
pub(super) const SILENCE: Duration = Duration::from_secs(120);

/// A thread that accepts one connection and reads it to its end.
pub(super) struct Receiver {
    address: SocketAddrV4,
    received_bytes: Arc<AtomicU64>,
    thread: JoinHandle<io::Result<Received>>,
}

/// What was read.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Received {
    pub bytes: u64,
    pub wrong_bytes: u64,
    pub time: Duration,
}

impl Receiver {
    /// Listens on `address`, at a free port.
    pub fn start(address: Ipv4Addr, options: &Options) -> Result<Receiver, Error> {
        let listener = listen(address, options.receive_buffer_bytes).map_err(Error::Receiver)?;
        let port = listener.local_addr().map_err(Error::Receiver)?.port();
        let received_bytes = Arc::new(AtomicU64::new(0));
        let reading = Reading {
            received: Arc::clone(&received_bytes),
            bytes_per_second: options.read_bytes_per_second,
            read_bytes: options.read_bytes.max(1),
            checked_bytes: usize::MAX,
        };
        let places = options.places;
        let work = move || {
            Places::enter(places, End::Receiver)?;
            reading.to_end(listener.accept()?.0)
        };
        let thread = thread::Builder::new().name("receiver".to_owned()).spawn(work).map_err(Error::Thread)?;
        Ok(Receiver { address: SocketAddrV4::new(address, port), received_bytes, thread })
    }

    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// The bytes read so far.
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes.load(Ordering::Relaxed)
    }

    /// Waits for the end of the stream.
    pub fn finish(self) -> Result<Received, Error> {
        self.thread.join().map_err(|_| Error::Died)?.map_err(Error::Receiver)
    }
}

/// Listens at a free port.
pub(super) fn listen(address: Ipv4Addr, receive_buffer_bytes: Option<usize>) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((address, 0))?;
    if let Some(bytes) = receive_buffer_bytes {
        set_socket_recv_buffer_size(&listener, bytes)?;
    }
    Ok(listener)
}

/// The parameters of reading.
pub(super) struct Reading {
    pub received: Arc<AtomicU64>,
    pub bytes_per_second: Option<f64>,
    pub read_bytes: usize,
    /// How many bytes of each read are compared with those sent, at most.
    pub checked_bytes: usize,
}

impl Reading {
    pub fn to_end(&self, mut stream: TcpStream) -> io::Result<Received> {
        stream.set_read_timeout(Some(SILENCE))?;
        let (began, before) = (Instant::now(), thread_time());
        let mut buffer = vec![0; self.read_bytes];
        let (mut bytes, mut wrong_bytes) = (0, 0);
        loop {
            let count = stream.read(&mut buffer)?;
            if count == 0 {
                return Ok(Received { bytes, wrong_bytes, time: thread_time().saturating_sub(before) });
            }
            wrong_bytes += stream::differences(bytes, &buffer[..count.min(self.checked_bytes)]);
            bytes += count as u64;
            self.received.store(bytes, Ordering::Relaxed);
            if let Some(rate) = self.bytes_per_second {
                let due = Duration::from_secs_f64(bytes as f64 / rate);
                thread::sleep(due.saturating_sub(began.elapsed()));
            }
        }
    }
}
