//! A runtime that is run by the threads that wait for the server.
//!
//! A thread that waits for a reply sends its call, waits on the socket and receives the reply by itself. A thread of
//! the runtime's own would have to be woken for each call, and to wake the caller for each reply. When several threads
//! wait, one runs the connections for all, and hands them on when its own reply is there.
//!
//! While nobody waits, a thread stands in, for the server's callbacks, lease renewals and late writes. It keeps away
//! while calls follow on each other: taking over from it costs what a thread of the runtime's own would.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

/// How long no call may begin before the thread stands in.
const PAUSE: Duration = Duration::from_millis(5);

/// A runtime that is run by the threads that wait for the server. It ends when this is dropped.
#[derive(Debug)]
pub struct CallerRuntime(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    runtime: Runtime,
    /// How many calls have begun.
    calls: AtomicU64,
    is_stood_in: AtomicBool,
    is_over: AtomicBool,
    /// Sends the thread that stands in away.
    wanted: Notify,
}

impl CallerRuntime {
    /// Starts a runtime, and its thread that stands in for callers.
    ///
    /// # Errors
    /// The runtime or its thread cannot be started.
    pub fn start() -> io::Result<CallerRuntime> {
        let inner = Arc::new(Inner {
            runtime: Builder::new_current_thread().enable_all().build()?,
            calls: AtomicU64::new(0),
            is_stood_in: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            wanted: Notify::new(),
        });
        let standing_in = Arc::clone(&inner);
        thread::Builder::new().name("client".to_owned()).spawn(move || standing_in.stand_in())?;
        Ok(CallerRuntime(inner))
    }

    /// Runs `work` on this thread to its end, and everything else that is ready meanwhile.
    ///
    /// # Panics
    /// On a thread that runs tasks.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        if self.0.is_stood_in.swap(false, Ordering::AcqRel) {
            self.0.wanted.notify_one();
        }
        self.0.runtime.block_on(work)
    }

    /// Spawns tasks.
    pub fn handle(&self) -> &Handle {
        self.0.runtime.handle()
    }
}

impl Drop for CallerRuntime {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.wanted.notify_one();
    }
}

impl Inner {
    fn stand_in(&self) {
        while !self.is_over.load(Ordering::Acquire) {
            self.is_stood_in.store(true, Ordering::Release);
            self.runtime.block_on(self.wanted.notified());
            self.wait_for_a_pause();
        }
    }

    /// Waits until no call has begun for a while.
    fn wait_for_a_pause(&self) {
        let mut before = None;
        loop {
            let now = Some(self.calls.load(Ordering::Relaxed));
            if now == before {
                return;
            }
            before = now;
            thread::sleep(PAUSE);
        }
    }
}

/// Who runs the connections of a mount.
#[derive(Debug)]
pub(super) enum Reactor {
    /// Threads of the runtime's own.
    Threads(Handle),
    Callers(Arc<CallerRuntime>),
}

impl Reactor {
    pub(super) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        match self {
            Reactor::Threads(runtime) => runtime.block_on(work),
            Reactor::Callers(runtime) => runtime.block_on(work),
        }
    }

    pub(super) fn handle(&self) -> &Handle {
        match self {
            Reactor::Threads(runtime) => runtime,
            Reactor::Callers(runtime) => runtime.handle(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn tasks_run_on_the_thread_that_waits() {
        let runtime = CallerRuntime::start().unwrap();
        let here = thread::current().id();
        // The thread that stands in may still run the first ones.
        let mut tries = 0..100_000;
        assert!(
            tries
                .any(|_| runtime.block_on(async { tokio::spawn(async { thread::current().id() }).await }).unwrap()
                    == here)
        );
    }

    #[test]
    fn tasks_run_while_nobody_waits() {
        let runtime = CallerRuntime::start().unwrap();
        for _ in 0..3 {
            // Sends the thread that stands in away.
            runtime.block_on(async {});
            let (sender, receiver) = mpsc::channel();
            runtime.handle().spawn(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                sender.send(()).unwrap();
            });
            receiver.recv().unwrap();
        }
    }

    #[test]
    fn threads_that_wait_at_the_same_time_all_go_on() {
        let runtime = CallerRuntime::start().unwrap();
        let wait = || {
            for number in 0..500 {
                let task = async move { tokio::task::yield_now().await };
                assert!(runtime.block_on(async { tokio::spawn(task).await }).is_ok(), "{number}");
            }
        };
        thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(wait))));
    }
}
