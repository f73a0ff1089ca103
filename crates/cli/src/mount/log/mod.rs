//! The log of a mount: standard error in the foreground, then the system's log, or a file where there is none.

mod file;

use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The socket of the system's log.
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
    /// Switches away from standard error. Returns whether it was in use.
    pub fn leave_terminal(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// Whether standard error is no longer in use.
    pub fn has_left_terminal(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Prints to standard error where messages go from now on, unless it is the system's log.
pub fn tell_place() {
    if UnixDatagram::unbound().and_then(|socket| socket.connect(SYSTEM_LOG)).is_ok() {
        return;
    }
    let Some(path) = file::path() else {
        eprintln!("wharf: there is no system log, and no home for a log file: messages of this mount are lost");
        return;
    };
    let shown = path.display();
    match file::open(&path) {
        Ok(_) => eprintln!("wharf: there is no system log: messages of this mount go to {shown}"),
        Err(error) => eprintln!(
            "wharf: there is no system log, and {shown} cannot be opened: {error}; messages of this mount are lost, \
             and --foreground shows them"
        ),
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
    /// For the system's log, which takes whole messages.
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
        let line = line.trim_ascii();
        if !line.is_empty() && send(line).is_err() {
            // If the file fails too, the message is lost.
            let _ = file::path().map(|path| file::write(&path, line));
        }
    }
}

/// Sends a line to the system's log.
fn send(line: &[u8]) -> io::Result<usize> {
    let message = [format!("<{PRIORITY}>wharf[{}]: ", process::id()).as_bytes(), line].concat();
    UnixDatagram::unbound()?.send_to(&message, SYSTEM_LOG)
}
