/// Who asks, after squashing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller<'a> {
    /// The user.
    pub uid: u32,
    /// The user's first group.
    pub gid: u32,
    /// The user's further groups.
    pub groups: &'a [u32],
}

impl Caller<'_> {
    /// The user whom no permission bit stops.
    pub const ROOT: Caller<'static> = Caller { uid: 0, gid: 0, groups: &[] };

    /// Whether the caller is in `group`.
    pub fn is_in_group(&self, group: u32) -> bool {
        self.gid == group || self.groups.contains(&group)
    }

    /// Whether the caller is the superuser.
    pub fn is_root(&self) -> bool {
        self.uid == 0
    }
}

/// What goes with every call of a [`FileSystem`](crate::FileSystem).
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Who asks.
    pub caller: Caller<'a>,
    /// Which worker asks: event loops and blocking threads are numbered from 0 without gaps, so that a file system can
    /// keep one cache for each. No other thread has the number of an event loop; a few blocking threads may share one.
    pub worker: usize,
    /// Whether this thread may wait. When it may not, a call that would wait answers
    /// [`Error::WouldBlock`](crate::Error::WouldBlock) and has changed nothing.
    pub may_block: bool,
    /// What tells the server which request asked for a change of names, at most [`Context::MAX_TICKET_BYTES`]; empty
    /// for all else. A file system that makes changes again after a power failure gives it back with the change.
    pub ticket: &'a [u8],
}

impl Context<'_> {
    /// The longest ticket, in bytes.
    pub const MAX_TICKET_BYTES: usize = 1024;
}

impl Context<'static> {
    /// The superuser on worker 0, allowed to wait: for start-up work and for tests.
    pub const ROOT: Context<'static> = Context { caller: Caller::ROOT, worker: 0, may_block: true, ticket: &[] };
}
