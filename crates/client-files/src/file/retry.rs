use proto::nfs4;

use crate::patience::Patience;
use crate::v4::{OpenFile, is_about_state};
use crate::{Error, Result};

/// How often one call is repeated because the server lost the file's state, and it was recovered.
const MAX_REPAIRS: u32 = 4;

/// Decides whether a call is repeated.
pub(super) struct Retry {
    patience: Patience,
    repairs: u32,
}

impl Retry {
    pub(super) fn new(patience: Patience) -> Retry {
        Retry { patience, repairs: 0 }
    }

    /// Recovers from `error`, or returns it if nothing helps. The call was made with the state of `era`.
    pub(super) async fn after(&mut self, error: Error, open: &OpenFile, era: u32) -> Result<()> {
        if is_about_state(&error) && self.repairs < MAX_REPAIRS {
            self.repairs += 1;
            if error.v4_status() == Some(nfs4::Status::OldStateid) {
                // In NFSv4.0 each LOCK and LOCKU replaces the stateid (RFC 7530 §9.1.4): its reply brings the new one.
                open.settled().await;
                return Ok(());
            }
            return open.repair(era).await;
        }
        if !self.patience.allows(&error) {
            return Err(error);
        }
        self.patience.wait().await;
        Ok(())
    }
}

/// Makes a call with the stateid for reads and writes. Repeats it while the server asks to try later, and with a new
/// stateid after the old one was lost and recovered.
macro_rules! under_stateid {
    ($file:expr, $open:expr, $stateid:ident => $call:expr) => {{
        let mut retry = crate::file::retry::Retry::new($file.mount.patience());
        loop {
            let ($stateid, era) = $open.stateid()?;
            match $call.await {
                Err(error) => retry.after($file.mount.drop_stale($open.handle(), error), $open, era).await?,
                done => break done,
            }
        }
    }};
}
pub(super) use under_stateid;
