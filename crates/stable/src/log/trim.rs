use super::create::check_owner;
use super::header::Header;
use super::{Log, LogError, Position};

impl Log {
    /// Frees the room of all records in front of `to`, a position from [`append`](Log::append) or
    /// [`records`](Log::records). Afterwards they are not read again, even after a crash. A batch is freed when none of
    /// its records is needed.
    ///
    /// # Errors
    /// When the log has failed, or there is no such position.
    pub fn trim(&self, to: Position) -> Result<(), LogError> {
        self.wait(to)?;
        let mut header = self.header();
        let (first_position, first_number) = {
            let state = self.state();
            state.check()?;
            if to.bytes() <= state.kept().tail() {
                return Ok(());
            }
            state.kept().first_from(to.bytes())
        };
        self.store(&mut header, |next| {
            (next.tail, next.first_position, next.first_number) = (to.bytes(), first_position, first_number);
        })?;
        self.state().trim(to.bytes());
        self.room.notify_all();
        Ok(())
    }

    /// Ends trims: appends no longer wait for room.
    pub(crate) fn end_trims(&self) {
        self.state().end_trims();
        self.wake_all();
    }

    /// Replaces the description of the owner. When this returns it is durable in both headers, so that damage to one
    /// of them loses nothing.
    ///
    /// # Errors
    /// When the log has failed, or `owner` is longer than [`MAX_OWNER_BYTES`](crate::MAX_OWNER_BYTES).
    pub fn set_owner(&self, owner: &[u8]) -> Result<(), LogError> {
        check_owner(owner)?;
        let mut header = self.header();
        self.state().check()?;
        self.store(&mut header, |next| next.owner = owner.to_vec())?;
        self.store(&mut header, |_| ())
    }

    /// Makes a changed header durable in the block that does not hold the current one.
    fn store(&self, header: &mut Header, change: impl FnOnce(&mut Header)) -> Result<(), LogError> {
        let mut next = Header { generation: header.generation + 1, ..header.clone() };
        change(&mut next);
        if let Err(failure) = self.ring.write_header(next.offset_bytes(), &next.block()) {
            self.state().fail(failure.clone());
            self.wake_all();
            return Err(failure);
        }
        *header = next;
        Ok(())
    }
}
