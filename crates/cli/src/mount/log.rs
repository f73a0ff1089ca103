//! Where a mount's log goes: to standard error while there is somebody to read it, and to the system's log after that.

use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Where the system's log listens.
const SYSTEM_LOG: &str = "/dev/log";
/// A daemon's notice (RFC 5424 §6.2.1).
const PRIORITY: u32 = 3 << 3 | 5;

/// The log of this process.
#[derive(Debug, Clone)]
pub struct Log(Arc<AtomicBool>);

/// Starts to log to standard error.
pub fn start() -> Log {
    let log = Log(Arc::new(AtomicBool::new(false)));
    tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_ansi(false)
        .without_time()
        .with_max_level(LevelFilter::INFO)
        .with_target(false)
        .init();
    log
}

impl Log {
    /// Says that from now on the system's log is to be used. Says whether that was not so already.
    pub fn leave_terminal(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// Whether the system's log is used.
    pub fn has_left_terminal(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        if self.has_left_terminal() { Line::System(Vec::new()) } else { Line::Terminal }
    }
}

/// One line of the log.
#[derive(Debug)]
pub enum Line {
    /// For standard error.
    Terminal,
    /// For the system's log, which takes it whole.
    System(Vec<u8>),
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Line::Terminal => io::stderr().write(bytes),
            Line::System(line) => line.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let Line::System(line) = self else { return };
        let mut message = format!("<{PRIORITY}>wharf[{}]: ", process::id()).into_bytes();
        message.extend_from_slice(line.trim_ascii());
        // Without a system's log there is nobody left to tell.
        let _ = UnixDatagram::unbound().and_then(|socket| socket.send_to(&message, SYSTEM_LOG));
    }
}
