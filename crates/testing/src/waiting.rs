use std::time::{Duration, Instant};

/// How long anything may take before a test fails, on a busy machine too.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is so that has to be so before long.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
