//! Captures the packets of the device, with tcpdump in the device's network.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::Error;

/// The number of bytes kept of each frame: its headers.
const SNAP_BYTES: &str = "128";
/// The buffer of tcpdump in KiB, so that a burst loses no packets.
const BUFFER_KIB: &str = "65536";
/// How long the kernel may take to deliver the last packets.
const LAST: Duration = Duration::from_millis(300);

/// tcpdump, started before the first packet.
pub(super) struct Capture {
    path: PathBuf,
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Capture {
    /// Starts it in this thread's network, and returns when it captures.
    pub fn start(device: &str, path: &Path) -> Result<Capture, Error> {
        let failed = |said: String| Error::Capture { path: path.to_owned(), said };
        let mut command = Command::new("tcpdump");
        // -Z keeps a user who may write the file; immediate mode delivers the last packets.
        let options = ["-Z", "root", "-n", "-U", "--immediate-mode", "-s", SNAP_BYTES, "-B", BUFFER_KIB, "-i", device];
        command.args(options).arg("-w").arg(path).arg("tcp");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| match error.kind() {
            ErrorKind::NotFound => failed("there is no tcpdump; install it, or leave --capture out".to_owned()),
            _ => failed(error.to_string()),
        })?;
        let stderr =
            child.stderr.take().ok_or_else(|| failed("the standard error of tcpdump is missing".to_owned()))?;
        let mut capture = Capture { path: path.to_owned(), child, said: BufReader::new(stderr) };
        let mut line = String::new();
        while !line.contains("listening on") {
            let reason = std::mem::take(&mut line);
            if capture.said.read_line(&mut line).is_ok_and(|count| count > 0) {
                continue;
            }
            return Err(failed(format!("tcpdump ends early: {}", reason.trim())));
        }
        Ok(capture)
    }

    /// Stops it after it has written all packets.
    ///
    /// # Errors
    /// [`Error::Capture`], also when packets are missing.
    pub fn finish(mut self) -> Result<(), Error> {
        thread::sleep(LAST);
        let mut text = String::new();
        let ended = kill_process(Pid::from_child(&self.child), Signal::INT)
            .map_err(std::io::Error::from)
            .and_then(|()| self.said.read_to_string(&mut text))
            .and_then(|_| self.child.wait());
        let lost = text.lines().find(|line| line.ends_with("dropped by kernel") && !line.starts_with("0 "));
        match (ended, lost) {
            (Err(error), _) => Err(self.failed(error.to_string())),
            (Ok(_), Some(lost)) => Err(self.failed(format!("{lost}; send less"))),
            (Ok(_), None) => Ok(()),
        }
    }
    fn failed(&self, said: String) -> Error {
        Error::Capture { path: self.path.clone(), said }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // After its end these do nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
