//! A log device whose last write is torn when the machine stops.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use stable::Device;

use crate::power::Power;

const SECTOR_BYTES: usize = 512;

pub struct TornDevice {
    bytes: Mutex<Vec<u8>>,
    rng: Mutex<Rng>,
    power: Power,
}

impl TornDevice {
    pub fn new(bytes: Vec<u8>, seed: u64, power: Power) -> Arc<TornDevice> {
        Arc::new(TornDevice { bytes: Mutex::new(bytes), rng: Mutex::new(Rng::with_seed(seed)), power })
    }

    /// What is stored.
    pub fn image(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }
}

impl Device for TornDevice {
    fn path(&self) -> &Path {
        Path::new("simulated")
    }

    fn size_bytes(&self) -> u64 {
        self.bytes.lock().unwrap().len() as u64
    }

    fn block_bytes(&self) -> usize {
        4096
    }

    fn read_at(&self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        let at = offset_bytes as usize;
        into.copy_from_slice(&self.bytes.lock().unwrap()[at..at + into.len()]);
        Ok(())
    }

    fn write_at(&self, offset_bytes: u64, from: &[u8]) -> io::Result<()> {
        let was_off = self.power.is_off();
        let result = self.power.call();
        if was_off {
            return result;
        }
        let (mut bytes, mut rng) = (self.bytes.lock().unwrap(), self.rng.lock().unwrap());
        for (index, sector) in from.chunks(SECTOR_BYTES).enumerate() {
            if result.is_ok() || rng.bool() {
                let at = offset_bytes as usize + index * SECTOR_BYTES;
                bytes[at..at + sector.len()].copy_from_slice(sector);
            }
        }
        result
    }
}
