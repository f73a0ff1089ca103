use vfs::Stability;

use crate::{Lie, WriteVerifier, Written};

/// The reply to a WRITE before it is checked (RFC 1813 §3.3.7, RFC 8881 §18.32).
pub(crate) struct WriteReply {
    pub(crate) count: u32,
    pub(crate) stability: Stability,
    pub(crate) verifier: [u8; 8],
}

impl WriteReply {
    /// Checks the reply to a WRITE of `given` bytes: it must have written some of them if there were any, no more, and
    /// at least as stably as `wanted`.
    pub(crate) fn check(&self, given: usize, wanted: Stability) -> Result<Written, Lie> {
        let said = self.count;
        if said as usize > given || (said == 0 && given > 0) {
            return Err(Lie::WrongWrite { said, given });
        }
        if self.stability < wanted {
            return Err(Lie::LessStable);
        }
        Ok(Written { count: said, stability: self.stability, verifier: WriteVerifier(self.verifier) })
    }
}
