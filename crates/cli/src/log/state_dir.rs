use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::serve::Privilege;

/// Where the server of a log keeps its state.
#[derive(Debug, Args)]
pub struct StateDirFlag {
    /// State directory of the server. [default: as for `wharf serve`]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl StateDirFlag {
    /// The directory.
    ///
    /// # Errors
    /// When there is no default one.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        Privilege::of_this_process().state_dir(self.state_dir.as_deref()).ok_or(Failure::WriteLogWithoutState)
    }
}
