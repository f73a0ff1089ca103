use std::time::Duration;

/// Faults of a path, each with its probability from 0 to 1 per packet.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Faults {
    /// A packet disappears.
    pub loss: f64,
    /// A packet comes twice.
    pub duplication: f64,
    /// A packet is delayed, behind others.
    pub reordering: f64,
    /// The longest delay.
    pub max_delay: Duration,
}

impl Faults {
    /// Decides about one packet: returns the delay of each copy; none if the packet is lost.
    pub fn fate(&self, random: &mut fastrand::Rng) -> impl Iterator<Item = Duration> + use<> {
        let copies = match () {
            () if random.f64() < self.loss => 0,
            () if random.f64() < self.duplication => 2,
            () => 1,
        };
        let mut delay =
            || if random.f64() < self.reordering { self.max_delay.mul_f64(random.f64()) } else { Duration::ZERO };
        let delays = [delay(), delay()];
        delays.into_iter().take(copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_meet_their_fates_as_often_as_said() {
        let faults = Faults { loss: 0.1, duplication: 0.2, reordering: 0.3, max_delay: Duration::from_millis(5) };
        let mut random = fastrand::Rng::with_seed(1);
        let fates: Vec<Vec<Duration>> = (0..20_000).map(|_| faults.fate(&mut random).collect()).collect();
        let share = |is_so: &dyn Fn(&Vec<Duration>) -> bool| {
            fates.iter().filter(|fate| is_so(fate)).count() as f64 / fates.len() as f64
        };
        assert!((share(&|fate| fate.is_empty()) - 0.1).abs() < 0.01);
        assert!((share(&|fate| fate.len() == 2) - 0.9 * 0.2).abs() < 0.01);
        assert!((share(&|fate| fate.first().is_some_and(|delay| *delay > Duration::ZERO)) - 0.9 * 0.3).abs() < 0.01);
        assert!(fates.iter().flatten().all(|delay| *delay <= faults.max_delay));
        assert!(Faults::default().fate(&mut random).eq([Duration::ZERO]));
    }
}
