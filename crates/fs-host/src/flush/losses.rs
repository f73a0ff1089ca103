//! How often bytes of a device may have been lost, for all exports of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The counts of the devices that were ever exported: a count that began again would hide a loss.
static DEVICES: Mutex<Vec<(u64, Losses)>> = Mutex::new(Vec::new());

/// The losses of a device since this process began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Losses(Arc<AtomicU64>);

impl Losses {
    pub(crate) fn of(device: u64) -> Losses {
        let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, losses)) = devices.iter().find(|(of, _)| *of == device) {
            return losses.clone();
        }
        let losses = Losses::default();
        devices.push((device, losses.clone()));
        losses
    }

    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}
