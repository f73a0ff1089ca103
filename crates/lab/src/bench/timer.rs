//! Waiting until a moment. The timer is the kernel's: tokio's counts milliseconds.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

use super::Stop;
use crate::sys;

/// A timer for one that waits.
#[derive(Debug)]
pub(crate) struct Timer(AsyncFd<OwnedFd>);

/// How soon it is seen that a job is to end.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

impl Timer {
    /// It is called inside of a runtime.
    pub(crate) fn new() -> io::Result<Timer> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        sys::watched(timer).map(Timer)
    }

    /// Waits until `due`, and returns that moment. Nothing when the job ends before.
    pub(crate) async fn wait_until(&self, due: Instant, deadline: Option<Instant>, stop: &Stop) -> Option<Instant> {
        loop {
            let now = Instant::now();
            if stop.is_stopped() || deadline.is_some_and(|deadline| due >= deadline || now >= deadline) {
                return None;
            }
            let left = due.saturating_duration_since(now);
            if left.is_zero() {
                return Some(due);
            }
            self.sleep(left.min(STOP_INTERVAL)).await.ok()?;
        }
    }

    async fn sleep(&self, time: Duration) -> io::Result<()> {
        let after = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: after };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        // What it has counted is forgotten when it is set again.
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}
