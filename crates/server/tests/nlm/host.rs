//! A host of the lock protocol.

use proto::nfs3::FileHandle;
use proto::nlm::{
    Cancel, CancelArgs, Lock, LockArgs, NetObj, Range, Res, Status, Test, TestArgs, TestReply, Unlock, UnlockArgs, V4,
    Version,
};

use crate::caller::Caller;

/// A process of a client that locks ranges of one file.
#[derive(Clone, Copy)]
pub struct Process<'s> {
    pub caller: Caller<'s>,
    pub name: &'static str,
    pub svid: i32,
    pub file: FileHandle,
}

/// What a lock is asked for with, besides its range.
#[derive(Clone, Copy, Default)]
pub struct How {
    pub block: bool,
    pub shared: bool,
    pub reclaim: bool,
    pub state: i32,
}

impl<'s> Process<'s> {
    pub fn new(caller: Caller<'s>, name: &'static str, svid: i32, file: FileHandle) -> Process<'s> {
        Process { caller, name, svid, file }
    }

    pub fn range<O: TryFrom<u64>>(&self, offset: u64, length: u64) -> Range<'_, O> {
        let number = |value| O::try_from(value).ok().unwrap();
        Range {
            caller_name: self.name.as_bytes(),
            file: NetObj(self.file.as_bytes()),
            owner: NetObj(b"owner"),
            svid: self.svid,
            offset: number(offset),
            length: number(length),
        }
    }

    pub fn lock(&self, offset: u64, length: u64) -> Status {
        self.lock_as::<V4>(offset, length, How::default())
    }

    pub fn lock_as<V: Version>(&self, offset: u64, length: u64, how: How) -> Status {
        let args = self.lock_args::<V>(offset, length, how);
        status(self.caller.call::<Lock<V>>(&args))
    }

    pub fn lock_args<V: Version>(&self, offset: u64, length: u64, how: How) -> LockArgs<'_, V::Offset> {
        LockArgs {
            cookie: COOKIE,
            block: how.block,
            exclusive: !how.shared,
            lock: self.range(offset, length),
            reclaim: how.reclaim,
            state: how.state,
        }
    }

    pub fn unlock(&self, offset: u64, length: u64) -> Status {
        let args = UnlockArgs { cookie: COOKIE, lock: self.range(offset, length) };
        status(self.caller.call::<Unlock<V4>>(&args))
    }

    pub fn cancel(&self, offset: u64, length: u64) -> Status {
        let args = CancelArgs { cookie: COOKIE, block: true, exclusive: true, lock: self.range(offset, length) };
        status(self.caller.call::<Cancel<V4>>(&args))
    }

    pub fn test<V: Version>(&self, offset: u64, length: u64) -> TestReply<'static, V::Offset> {
        let args = TestArgs { cookie: COOKIE, exclusive: true, lock: self.range(offset, length) };
        let ok = self.caller.call::<Test<V>>(&args);
        assert_eq!(ok.cookie, COOKIE);
        ok.reply
    }
}

pub const COOKIE: NetObj<'static> = NetObj(b"cookie");

pub fn status(res: Res<'_>) -> Status {
    assert_eq!(res.cookie, COOKIE);
    res.status
}
