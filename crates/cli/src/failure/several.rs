use super::{Failure, MountFailure, explain};

/// The maximum number of failures that a command prints. A tree may have millions.
const MAX_TOLD: u64 = 100;

/// The failures of a command that continues with the next file.
#[derive(Debug, Default)]
pub struct Failures {
    count: u64,
}

impl Failures {
    /// Prints and counts a failure.
    pub fn note(&mut self, failure: &Failure) {
        if self.is_told() {
            tell(failure);
        }
    }

    /// Prints and counts a failure, if it is one.
    ///
    /// # Errors
    /// The failure, if all further files would fail, too.
    pub fn go_on(&mut self, result: Result<(), Failure>) -> Result<(), Failure> {
        match result {
            Err(failure) if failure.ends_all() => Err(failure),
            Err(failure) => {
                self.note(&failure);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Counts a failure, and returns whether to print it.
    pub fn is_told(&mut self) -> bool {
        self.count += 1;
        self.count <= MAX_TOLD
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of failures that were not printed.
    pub fn untold(&self) -> u64 {
        self.count.saturating_sub(MAX_TOLD)
    }

    /// The result of the command.
    ///
    /// # Errors
    /// [`Failure::Told`] if anything failed.
    pub fn finish(self) -> Result<(), Failure> {
        if self.count == 0 { Ok(()) } else { Err(Failure::Told { untold: self.untold() }) }
    }
}

/// Prints a failure to standard error.
pub fn tell(failure: &Failure) {
    match failure {
        // These failures were printed before.
        Failure::Mount(MountFailure::Daemon) | Failure::Told { untold: 0 } | Failure::Ended { .. } => {}
        Failure::Several(failures) => failures.iter().for_each(tell),
        // Its message contains that of its source.
        Failure::Remote { .. } => eprintln!("wharf: {failure}{}", failure.advice_for_root()),
        _ => eprintln!("wharf: {}{}", explain(failure), failure.advice_for_root()),
    }
}
