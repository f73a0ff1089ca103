//! A log device whose last write is torn when the machine stops.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use stable::Device;

use crate::power_failure::power::Power;

const SECTOR_BYTES: usize = 512;

pub struct TornDevice {
    bytes: Mutex<Vec<u8>>,
    rng: Mutex<Rng>,
    power: Power,
    /// How many writes the device itself still takes.
    endurance: Mutex<Power>,
}

impl TornDevice {
    pub fn new(bytes: Vec<u8>, seed: u64, power: Power) -> Arc<TornDevice> {
        let endurance = Mutex::new(Power::lasting(i64::MAX));
        Arc::new(TornDevice { bytes: Mutex::new(bytes), rng: Mutex::new(Rng::with_seed(seed)), power, endurance })
    }

    /// Has writes fail after so many of them.
    pub fn wears_out_after(&self, writes: i64) {
        *self.endurance.lock().unwrap() = Power::lasting(writes);
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
        let endurance = self.endurance.lock().unwrap();
        let was_off = self.power.is_off() || endurance.is_off();
        let result = self.power.call().and(endurance.call());
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
