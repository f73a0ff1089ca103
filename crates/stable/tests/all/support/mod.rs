//! A device that crashes or fails at a chosen call, and numbers that are the same for the same seed.

pub mod site;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use stable::Device;

/// What a disk writes as a whole.
pub const SECTOR: usize = 512;

/// What a log writes as a whole.
pub const BLOCK: usize = 4096;

/// Numbers from a seed (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = self.next().to_le_bytes().repeat(length.div_ceil(8));
        bytes.truncate(length);
        bytes
    }
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// After so many writes the machine stops: of each unfinished write any sectors are stored.
    Crash(usize),
    /// After so many writes one fails; of it any sectors are stored. Later ones work.
    Write(usize),
    /// After so many reads one fails.
    Read(usize),
}

/// A device whose bytes outlive what happens to it.
pub struct TestDevice {
    state: Mutex<TestState>,
}

struct TestState {
    bytes: Vec<u8>,
    fault: Fault,
    random: Random,
    has_crashed: bool,
}

impl TestDevice {
    pub fn new(bytes: Vec<u8>, fault: Fault, seed: u64) -> Arc<TestDevice> {
        let state = TestState { bytes, fault, random: Random::new(seed), has_crashed: false };
        Arc::new(TestDevice { state: Mutex::new(state) })
    }

    /// What is stored.
    pub fn bytes(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    pub fn has_crashed(&self) -> bool {
        self.state().has_crashed
    }

    fn state(&self) -> MutexGuard<'_, TestState> {
        self.state.lock().unwrap()
    }
}

impl TestState {
    /// Stores each sector of a write with a chance that is another one each time.
    fn tear(&mut self, offset: usize, from: &[u8]) {
        let chance = self.random.below(101);
        for (number, sector) in from.chunks(SECTOR).enumerate() {
            if self.random.below(100) < chance {
                let at = offset + number * SECTOR;
                self.bytes[at..at + sector.len()].copy_from_slice(sector);
            }
        }
    }
}

fn broken() -> io::Error {
    io::Error::other("the disk is broken")
}

impl Device for TestDevice {
    fn path(&self) -> &Path {
        Path::new("test.log")
    }

    fn size_bytes(&self) -> u64 {
        self.state().bytes.len() as u64
    }

    fn block_bytes(&self) -> usize {
        SECTOR
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        assert!(offset.is_multiple_of(BLOCK as u64) && into.len().is_multiple_of(BLOCK));
        assert!(into.as_ptr().addr().is_multiple_of(BLOCK), "direct reads need memory that begins at a page");
        let mut state = self.state();
        match &mut state.fault {
            Fault::Read(0) => {
                state.fault = Fault::None;
                return Err(broken());
            }
            Fault::Read(left) => *left -= 1,
            _ => {}
        }
        if state.has_crashed {
            return Err(broken());
        }
        into.copy_from_slice(&state.bytes[offset as usize..][..into.len()]);
        Ok(())
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        assert!(offset.is_multiple_of(BLOCK as u64) && from.len().is_multiple_of(BLOCK));
        assert!(from.as_ptr().addr().is_multiple_of(BLOCK), "direct writes need memory that begins at a page");
        if self.state().has_crashed {
            return Err(broken());
        }
        // Writes of other threads run meanwhile, and a crash interrupts all of them.
        thread::yield_now();
        let mut state = self.state();
        let (now_crashes, now_fails) = match &mut state.fault {
            Fault::Crash(0) => (true, false),
            Fault::Write(0) => (false, true),
            Fault::Crash(left) | Fault::Write(left) => {
                *left -= 1;
                (false, false)
            }
            _ => (false, false),
        };
        state.has_crashed |= now_crashes;
        if state.has_crashed || now_fails {
            state.fault = Fault::None;
            state.tear(offset as usize, from);
            return Err(broken());
        }
        state.bytes[offset as usize..][..from.len()].copy_from_slice(from);
        Ok(())
    }
}
