//! An OPEN that truncates an existing file: the file is reserved, truncated and then opened, so that an OPEN that is
//! refused leaves the file as it was, and no other open gets in between.

use std::time::Duration;

use crate::core::Core;
use crate::ids::StateKey;
use crate::owner::OwnerKind;
use crate::share::Share;
use crate::{OpenArgs, Opened, ShareAccess, State, StateError};

/// A file reserved for an OPEN, as if it were open for writing besides. It ends with [`Reserved::open`], or unused.
pub struct Reserved<'a> {
    state: &'a State,
    args: OpenArgs<'a>,
    share: Share,
    key: StateKey,
}

impl State {
    /// Reserves a file for an OPEN that truncates it. The claim is not one of a reclaim.
    ///
    /// # Errors
    /// As [`State::open`]. Truncating is a write, whatever the access of the open is.
    pub fn reserve<'a>(&'a self, now: Duration, args: OpenArgs<'a>) -> Result<Reserved<'a>, StateError> {
        let share = Share { access: args.access.union(ShareAccess::WRITE), deny: args.deny };
        let key = self.with_room_for(now, args.client, |core| core.reserve(now, &args, share))?;
        Ok(Reserved { state: self, args, share, key })
    }
}

impl Reserved<'_> {
    /// Opens the file, whose change attribute is now `change`.
    ///
    /// # Errors
    /// As [`State::open`], but for those that the reservation excludes.
    pub fn open(self, now: Duration, change: u64) -> Result<Opened, StateError> {
        let mut core = self.state.core();
        core.end_reservation(&self);
        let opened = core.open(now, &OpenArgs { change, ..self.args });
        drop(core);
        opened
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.state.core().end_reservation(self);
    }
}

impl Core {
    fn reserve(&mut self, now: Duration, args: &OpenArgs<'_>, share: Share) -> Result<StateKey, StateError> {
        self.check_open(now, args)?;
        let owner = self.owners.find(OwnerKind::Open, args.client.number(), args.owner);
        if owner.and_then(|owner| self.open_of(owner, &args.file)).is_none() {
            self.room_for_open(args.client)?;
        }
        let reserved = self.reserve_as(now, &OpenArgs { access: share.access, ..*args }, share);
        self.settle(&args.file);
        reserved
    }

    fn reserve_as(&mut self, now: Duration, args: &OpenArgs<'_>, share: Share) -> Result<StateKey, StateError> {
        self.clear_share_conflicts(now, args)?;
        self.recall_for_open(now, args)?;
        self.ensure_recorded(args.client, false)?;
        let key = self.new_key(args.client.number())?;
        let file = self.file_entry(&args.file);
        if let Some(file) = self.files.get_mut(&file) {
            file.opens.reserve(share, key);
        }
        Ok(key)
    }

    fn end_reservation(&mut self, reserved: &Reserved<'_>) {
        if let Some(file) = self.files.get_mut(&reserved.args.file)
            && file.opens.end_reservation(reserved.share, reserved.key)
        {
            self.settle(&reserved.args.file);
        }
    }
}
