//! The disks of a machine: they record what they are asked to do.

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
}

impl Machine {
    /// Disks of these sizes in bytes, with what they hold. Bytes of the first one that are `whole` are never torn.
    pub fn new(disks: Vec<(u64, Image)>, whole: Range<u64>) -> Arc<Machine> {
        let (disk_bytes, images): (_, Vec<Image>) = disks.into_iter().unzip();
        let recording = Recording { images: images.clone(), events: Vec::new(), whole };
        Arc::new(Machine { disk_bytes, state: Mutex::new(State { images, recording }) })
    }

    pub fn disk_bytes(&self, disk: usize) -> u64 {
        self.disk_bytes[disk]
    }

    pub fn read(&self, disk: usize, offset: u64, into: &mut [u8]) {
        self.state().images[disk].read(offset, into);
    }

    /// Stores bytes, and records that.
    pub fn write(&self, disk: usize, offset: u64, data: &[u8]) {
        let state = &mut *self.state();
        state.images[disk].write(offset, data);
        state.recording.events.push(Event::Write { disk, offset, data: data.into() });
    }

    pub fn clear(&self, disk: usize, range: Range<u64>) {
        let state = &mut *self.state();
        state.images[disk].clear(range.clone());
        state.recording.events.push(Event::Clear { disk, range });
    }

    /// Records what is no write: those are made by functions of their own.
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
