//! Measures the loop: messages per second and processor time per message, against a bare epoll loop that does the least
//! that any server has to.
//!
//! `cargo run --release -p wharf-net --example echo [SECONDS [REPLY_BYTES [CONNECTIONS [OUTSTANDING]]]]`
//!
//! The server's one loop and the client's one thread are each pinned to a processor. The two servers take turns, so
//! that what else the machine does hits both.

use std::error::Error;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use buffer::Output;
use net::{Call, Frame, FrameError, Limits, Server, Service, Verdict};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// A call: its length and as many bytes as a READ's arguments take.
const CALL_BYTES: usize = 128;

/// How much is received at once, by both servers and the client.
const RECEIVE_BYTES: usize = 256 << 10;

/// How many times the two servers take turns.
const ROUNDS: usize = 3;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Clone, Copy)]
struct Load {
    time: Duration,
    reply_bytes: usize,
    connections: usize,
    outstanding: usize,
}

struct Figures {
    messages_per_second: f64,
    server_us_per_message: f64,
}

/// Answers every call with the same number of bytes.
struct Fixed {
    reply_bytes: usize,
}

impl Service for Fixed {
    fn frame(&self, unread: &mut [u8]) -> std::result::Result<Frame, FrameError> {
        let Some((length, _)) = unread.split_first_chunk::<4>() else { return Ok(Frame::Partial(4)) };
        let end = 4 + u32::from_be_bytes(*length) as usize;
        Ok(if unread.len() < end { Frame::Partial(end) } else { Frame::Message { body: 4..end, consumed: end } })
    }

    fn call(&self, _: &Call<'_>, output: &mut Output) -> Verdict {
        put_reply(output.bytes.space(self.reply_bytes));
        output.bytes.advance(self.reply_bytes);
        Verdict::Answered
    }
}

fn put_reply(place: &mut [u8]) {
    let length = (place.len() - 4) as u32;
    place.fill(7);
    place[..4].copy_from_slice(&length.to_be_bytes());
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let time = Duration::from_secs(number(3)? as u64);
    let load = Load {
        time,
        reply_bytes: number(128)?.max(4),
        connections: number(4)?.max(1),
        outstanding: number(64)?.max(1),
    };
    println!("{} connections, {} calls outstanding on each", load.connections, load.outstanding);
    println!("calls of {CALL_BYTES} bytes, replies of {} bytes", load.reply_bytes);
    for _ in 0..ROUNDS {
        show("bare epoll", &measure_bare(load)?);
        show("wharf-net", &measure_wharf(load)?);
    }
    Ok(())
}

fn show(name: &str, figures: &Figures) {
    let Figures { messages_per_second, server_us_per_message } = figures;
    println!("{name:>10}: {messages_per_second:>9.0} messages/s, {server_us_per_message:.3} us of the server each");
}

fn measure_wharf(load: Load) -> Result<Figures> {
    let mut server = Server::new(Limits::default()).loops(1).pinned(true);
    let address = server.listen_tcp("127.0.0.1:0".parse()?)?;
    let handle = server.start(Arc::new(Fixed { reply_bytes: load.reply_bytes }))?;
    let figures = drive(address, load)?;
    handle.shutdown(Duration::from_secs(1));
    handle.join();
    Ok(figures)
}

fn measure_bare(load: Load) -> Result<Figures> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let stop = Arc::new(AtomicBool::new(false));
    let (stop_seen, count) = (Arc::clone(&stop), load.connections);
    let server = thread::spawn(move || {
        pin(0);
        serve_bare(&listener, count, load.reply_bytes, &stop_seen)
    });
    let figures = drive(address, load)?;
    stop.store(true, Ordering::Relaxed);
    server.join().map_err(|_| "the bare server panicked")??;
    Ok(figures)
}

fn serve_bare(listener: &TcpListener, count: usize, reply_bytes: usize, stop: &AtomicBool) -> io::Result<()> {
    let streams: Vec<OwnedFd> =
        (0..count).map(|_| listener.accept().map(|(stream, _)| stream.into())).collect::<io::Result<_>>()?;
    let poll = watch(&streams)?;
    let mut events = Vec::with_capacity(64);
    let mut input = vec![0; RECEIVE_BYTES];
    let mut output = vec![0; 64 << 20];
    while !stop.load(Ordering::Relaxed) {
        events.clear();
        epoll::wait(
            &poll,
            spare_capacity(&mut events),
            Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 10_000_000 }),
        )?;
        for event in &events {
            let stream = &streams[event.data.u64() as usize];
            // The client is gone when it has measured enough.
            let Ok((received @ 1.., _)) = recv(stream, &mut *input, RecvFlags::DONTWAIT) else { return Ok(()) };
            let (mut at, mut filled) = (0, 0);
            while at + CALL_BYTES <= received {
                put_reply(&mut output[filled..filled + reply_bytes]);
                filled += reply_bytes;
                at += CALL_BYTES;
            }
            if send_all(stream, &output[..filled]).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn watch(streams: &[OwnedFd]) -> io::Result<OwnedFd> {
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    for (index, stream) in streams.iter().enumerate() {
        epoll::add(&poll, stream, EventData::new_u64(index as u64), EventFlags::IN)?;
    }
    Ok(poll)
}

fn send_all(stream: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let sent = send(stream, bytes, SendFlags::NOSIGNAL)?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

/// Keeps the server busy from a thread of its own, which alone is pinned with it, and measures.
fn drive(address: SocketAddr, load: Load) -> Result<Figures> {
    let driver = thread::spawn(move || drive_here(address, load).map_err(|error| error.to_string()));
    Ok(driver.join().map_err(|_| "the client panicked")??)
}

fn drive_here(address: SocketAddr, load: Load) -> Result<Figures> {
    pin(1);
    let connect = || -> io::Result<OwnedFd> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(stream.into())
    };
    let streams: Vec<OwnedFd> = (0..load.connections).map(|_| connect()).collect::<io::Result<_>>()?;
    let poll = watch(&streams)?;
    let mut call = ((CALL_BYTES - 4) as u32).to_be_bytes().to_vec();
    call.resize(CALL_BYTES, 1);
    let calls = call.repeat(load.outstanding);
    for stream in &streams {
        send_all(stream, &calls)?;
    }
    let warm = Instant::now() + load.time / 10;
    let begun = vec![0; streams.len()];
    let mut client = Client { poll, streams, begun, load, calls };
    client.run_until(warm)?;
    let (start, cpu) = (Instant::now(), server_time());
    let messages = client.run_until(start + load.time)?;
    let (elapsed, cpu) = (start.elapsed(), server_time() - cpu);
    Ok(Figures {
        messages_per_second: messages as f64 / elapsed.as_secs_f64(),
        server_us_per_message: cpu.as_secs_f64() * 1e6 / messages as f64,
    })
}

/// The client's end of all connections.
struct Client {
    poll: OwnedFd,
    streams: Vec<OwnedFd>,
    /// How many bytes of a reply have come over each connection.
    begun: Vec<usize>,
    load: Load,
    /// All calls that one connection has outstanding.
    calls: Vec<u8>,
}

impl Client {
    /// Sends a call for every reply; says how many replies came.
    fn run_until(&mut self, end: Instant) -> Result<u64> {
        let mut events = Vec::with_capacity(64);
        let mut input = vec![0; RECEIVE_BYTES];
        let mut total = 0;
        while Instant::now() < end {
            events.clear();
            epoll::wait(&self.poll, spare_capacity(&mut events), None)?;
            for event in &events {
                total += self.turn(event.data.u64() as usize, &mut input)?;
            }
        }
        Ok(total)
    }

    fn turn(&mut self, index: usize, input: &mut [u8]) -> Result<u64> {
        let received = match recv(&self.streams[index], input, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err("the server closed a connection".into()),
            Ok((count, _)) => self.begun[index] + count,
            Err(Errno::AGAIN) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let replies = received / self.load.reply_bytes;
        self.begun[index] = received % self.load.reply_bytes;
        send_all(&self.streams[index], &self.calls[..replies * CALL_BYTES])?;
        Ok(replies as u64)
    }
}

/// The processor time of this process without that of this thread.
fn server_time() -> Duration {
    cpu_time(ClockId::ProcessCPUTime) - cpu_time(ClockId::ThreadCPUTime)
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    if let Err(error) = sched_setaffinity(None, &set) {
        eprintln!("this thread is not pinned: {error}");
    }
}
