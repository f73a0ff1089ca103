//! The disks of a machine: they record what they are asked to do.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::image::Image;
use crate::recording::{Event, Recording};

pub struct Machine {
    disk_bytes: Vec<u64>,
    state: Mutex<State>,
}

struct State {
    images: Vec<Image>,
    recording: Recording,
    failures: Vec<Failure>,
    failed: u64,
}

/// Writes and flushes of a disk that fail, and store nothing.
#[derive(Debug, Clone, Copy)]
pub struct Failure {
    pub disk: usize,
    /// How many work before.
    pub after: u64,
    /// How many fail.
    pub times: u64,
}

impl Machine {
    /// Disks of these sizes in bytes, with what they hold. A power failure tears writes only if `tears`, and never the
    /// last range of a disk.
    pub fn new(disks: Vec<(u64, Image, Range<u64>)>, tears: bool) -> Arc<Machine> {
        let (disk_bytes, images, whole): (_, Vec<Image>, _) = disks.into_iter().collect();
        let recording = Recording { images: images.clone(), events: Vec::new(), whole, tears };
        Arc::new(Machine {
            disk_bytes,
            state: Mutex::new(State { images, recording, failures: Vec::new(), failed: 0 }),
        })
    }

    pub fn disk_bytes(&self, disk: usize) -> u64 {
        self.disk_bytes[disk]
    }

    pub fn read(&self, disk: usize, offset: u64, into: &mut [u8]) {
        self.state().images[disk].read(offset, into);
    }

    /// From now on these disks fail, and no others.
    pub fn fail(&self, failures: Vec<Failure>) {
        self.state().failures = failures;
    }

    /// How many requests have failed.
    pub fn failed(&self) -> u64 {
        self.state().failed
    }

    /// Stores bytes, and records that.
    pub fn write(&self, disk: usize, offset: u64, data: &[u8]) -> io::Result<()> {
        let state = &mut *self.state();
        state.check(disk)?;
        state.images[disk].write(offset, data);
        state.recording.events.push(Event::Write { disk, offset, data: data.into() });
        Ok(())
    }

    pub fn clear(&self, disk: usize, range: Range<u64>) -> io::Result<()> {
        let state = &mut *self.state();
        state.check(disk)?;
        state.images[disk].clear(range.clone());
        state.recording.events.push(Event::Clear { disk, range });
        Ok(())
    }

    pub fn flush(&self, disk: usize) -> io::Result<()> {
        let state = &mut *self.state();
        state.check(disk)?;
        state.recording.events.push(Event::Flush { disk });
        Ok(())
    }

    /// Records what a client does.
    pub fn note(&self, event: Event) {
        self.state().recording.events.push(event);
    }

    /// Forgets what was recorded so far, as if all of it were durable.
    pub fn begin(&self) {
        let state = &mut *self.state();
        state.recording.images = state.images.clone();
        state.recording.events.clear();
    }

    /// What was recorded so far.
    pub fn recording(&self) -> Recording {
        self.state().recording.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn check(&mut self, disk: usize) -> io::Result<()> {
        let Some(failure) = self.failures.iter_mut().find(|failure| failure.disk == disk) else { return Ok(()) };
        if failure.after > 0 {
            failure.after -= 1;
        } else if failure.times > 0 {
            failure.times -= 1;
            self.failed += 1;
            return Err(rustix::io::Errno::IO.into());
        }
        Ok(())
    }
}
