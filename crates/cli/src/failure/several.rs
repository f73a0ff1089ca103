use super::{Failure, MountFailure, explain};

/// How many failures of one command are told one by one. The rest is counted: a tree may have millions.
const MAX_TOLD: u64 = 100;

/// The failures of a command that goes on with the next file after each of them.
#[derive(Debug, Default)]
pub struct Failures {
    count: u64,
}

impl Failures {
    /// Tells of a failure and counts it.
    pub fn note(&mut self, failure: &Failure) {
        if self.is_told() {
            tell(failure);
        }
    }

    /// Tells of a failure, if it is one, and counts it.
    ///
    /// # Errors
    /// The failure, when it would be the same with every further file.
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

    /// Counts a failure, and says whether it is to be told.
    pub fn is_told(&mut self) -> bool {
        self.count += 1;
        self.count <= MAX_TOLD
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many of them were not told.
    pub fn untold(&self) -> u64 {
        self.count.saturating_sub(MAX_TOLD)
    }

    /// How the command ends.
    ///
    /// # Errors
    /// [`Failure::Told`] when anything failed.
    pub fn finish(self) -> Result<(), Failure> {
        if self.count == 0 { Ok(()) } else { Err(Failure::Told { untold: self.untold() }) }
    }
}

/// Says on standard error what failed.
pub fn tell(failure: &Failure) {
    match failure {
        // The process that should have stayed has said why, and so has whoever noted several failures.
        Failure::Mount(MountFailure::Daemon) | Failure::Told { untold: 0 } | Failure::Ended { .. } => {}
        Failure::Several(failures) => failures.iter().for_each(tell),
        // It quotes all that its source has to say.
        Failure::Remote { .. } => eprintln!("wharf: {failure}"),
        _ => eprintln!("wharf: {}", explain(failure)),
    }
}
