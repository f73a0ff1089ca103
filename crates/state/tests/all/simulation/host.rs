//! A simulated host of the lock protocol: no lease; it repeats what was not answered and reclaims after a restart.

use state::*;

use crate::simulation::actor::Actor;
use crate::simulation::model::{BYTES, FILES, Locked};
use testing::Random;
use testing::world::{World, in_steps, key};

impl Actor {
    pub fn act_as_host(&mut self, world: &World, rng: &mut Random) {
        if self.boot != world.boot {
            return self.reclaim_nlm(world);
        }
        let file = rng.below(FILES as u64) as usize;
        let first = rng.below(BYTES as u64) as usize;
        let length = 1 + rng.below((BYTES - first) as u64) as usize;
        let run = (first, length, rng.percent(50));
        let name = self.name.clone();
        let lock = nlm_lock(&name, file, run);
        let kind = rng.below(6);
        world.trace(format_args!("{name} does {kind} with {run:?} in file {file}"));
        match kind {
            0..=1 => {
                self.beliefs[file].bytes[first..first + length].fill(Locked::No);
                // The call may be lost, and is then sent again: here it is sent twice.
                (0..1 + rng.below(2)).for_each(|_| in_steps(|| world.state.nlm_unlock(world.now, &lock)).unwrap());
            }
            2 => {
                world.state.nlm_cancel(&lock);
            }
            _ => {
                if !run.2 {
                    let bytes = &mut self.beliefs[file].bytes[first..first + length];
                    bytes.iter_mut().for_each(|byte| *byte = (*byte).min(Locked::Shared));
                }
                let mode = if kind == 3 { NlmMode::Wait(b"cookie") } else { NlmMode::Now };
                for _ in 0..1 + rng.below(2) {
                    match world.state.nlm_lock(world.now, &lock, mode) {
                        Ok(NlmOutcome::Granted) => self.nlm_granted(file, run),
                        Ok(NlmOutcome::Blocked) => assert_eq!(kind, 3),
                        Err(StateError::Denied(_) | StateError::Grace | StateError::Delay | StateError::Deadlock) => {}
                        Err(StateError::Records(_)) => {}
                        Err(error) => panic!("NLM_LOCK: {error}"),
                    }
                }
            }
        }
    }

    /// Notes that the host holds a lock.
    pub fn nlm_granted(&mut self, file: usize, (first, length, exclusive): (usize, usize, bool)) {
        let locked = if exclusive { Locked::Exclusive } else { Locked::Shared };
        self.beliefs[file].bytes[first..first + length].fill(locked);
    }

    /// The host hears of the restart and reclaims. It is entitled to succeed as long as the grace period lasts.
    pub fn reclaim_nlm(&mut self, world: &World) {
        self.boot = world.boot;
        let entitled = !std::mem::take(&mut self.is_unprotected) && world.state.in_grace(world.now);
        let name = self.name.clone();
        for file in 0..FILES {
            let runs = self.beliefs[file].runs();
            self.beliefs[file] = Default::default();
            for run in runs {
                match world.state.nlm_lock(world.now, &nlm_lock(&name, file, run), NlmMode::Reclaim) {
                    Ok(_) => self.nlm_granted(file, run),
                    Err(error) => assert!(!entitled, "{name} could not reclaim {run:?} in file {file}: {error}"),
                }
            }
        }
    }
}

fn nlm_lock(name: &str, file: usize, (first, length, exclusive): (usize, usize, bool)) -> NlmLock<'_> {
    let range = ByteRange::nlm(first as u64, length as u64).unwrap();
    NlmLock {
        host: name.as_bytes(),
        origin: testing::world::origin(1),
        owner: name.as_bytes(),
        file: key(file as u64),
        range,
        exclusive,
    }
}
