//! A receiving host that gets a part of a processor, over the wire: the speed follows from what each segment costs it.
//!
//! The kernel's thread that receives frames and the process that reads share the quota. Linux 6.18 and later stop a
//! process when it returns to user space, and so never the thread: its time is taken from the process's.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use segments::link::LinkOptions;
use segments::user::{self, Control, Options, ReceivingHost, TransferResult};

use crate::cgroup::GroupError;
use crate::engine::{Error, PassError};
use crate::process::Process;
use crate::quota::{Quota, Share};

/// A tenth of a processor: so little that the receiver is the limit on a busy machine, too.
pub(super) const SHARE: Share = Share { quota_us: 1000, period_us: 10_000 };

/// How long a new thread of the kernel may take to begin.
const BEGIN: Duration = Duration::from_secs(2);

/// The host, as long as this lives.
pub(super) struct LimitedHost {
    program: PathBuf,
    host: ReceivingHost,
    quota: Quota,
}

impl LimitedHost {
    /// Why there can be none here: it tries.
    pub(super) fn missing(link: LinkOptions) -> Option<String> {
        LimitedHost::new(PathBuf::new(), link).err().map(|error| error.to_string())
    }

    /// Creates one, whose processes run `program`.
    pub(super) fn new(program: PathBuf, link: LinkOptions) -> Result<LimitedHost, Error> {
        let host = ReceivingHost::new(link)?;
        let quota = Quota::new("segments", SHARE)?;
        limit_thread(&quota, host.thread())?;
        Ok(LimitedHost { program, host, quota })
    }

    /// Sends a stream to a new process of the host. Returns also the time of the kernel's thread.
    pub(super) fn receive(&self, options: &Options) -> Result<(TransferResult, Duration), PassError> {
        let mut command = Command::new(&self.program);
        command.args(["tcp", "receive", "--read-size", &options.read_bytes.to_string()]);
        command.args(options.receive_buffer_bytes.map(|bytes| format!("--receive-buffer={bytes}")));
        let receiver = self.host.start(&mut command, options.places)?;
        self.quota.limit(receiver.id())?;
        let thread = Process::Id(self.host.thread());
        let before = thread.time()?;
        let outcome = user::run_to(&self.host, receiver, options, &Control::default())?;
        match thread.time()?.saturating_sub(before) {
            Duration::ZERO => Err(PassError("the kernel's thread of the limited receiver got no frames".to_owned())),
            time => Ok((outcome, time)),
        }
    }
}

/// Limits a thread of the kernel. One that was created just now cannot be moved until it runs.
fn limit_thread(quota: &Quota, thread: u32) -> Result<(), GroupError> {
    let began = Instant::now();
    loop {
        match quota.limit(thread) {
            Err(GroupError::File { source, .. })
                if source.kind() == ErrorKind::InvalidInput && began.elapsed() < BEGIN =>
            {
                thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

impl Drop for LimitedHost {
    fn drop(&mut self) {
        // The thread ends some time after its wire, and the group has to be empty then.
        let _ = self.quota.release(self.host.thread());
    }
}
