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
    /// Root, whom no permission bit restricts.
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

/// The context of each call to a [`FileSystem`](crate::FileSystem).
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Who asks.
    pub caller: Caller<'a>,
    /// The number of the calling worker. Event loops and blocking threads are numbered from 0 without gaps, so that a
    /// file system can keep a cache per worker. The number of an event loop is unique; a few blocking threads may share
    /// one.
    pub worker: usize,
    /// Whether this thread may wait. If not, a call that would have to wait returns
    /// [`Error::WouldBlock`](crate::Error::WouldBlock) and changes nothing.
    pub may_block: bool,
    /// Whether reads must come from where the file is, past all caches on the way (`O_DIRECT`), and attributes be as
    /// current as at an open.
    pub past_caches: bool,
    /// Identifies the request of a name change to the server, with at most [`Context::MAX_TICKET_BYTES`]; empty for all
    /// other requests. A file system that replays changes after a power failure returns it with the change.
    pub ticket: &'a [u8],
}

impl Context<'_> {
    /// The longest ticket, in bytes.
    pub const MAX_TICKET_BYTES: usize = 1024;
}

impl Context<'static> {
    /// Root on worker 0, allowed to wait: for start-up and tests.
    pub const ROOT: Context<'static> =
        Context { caller: Caller::ROOT, worker: 0, may_block: true, past_caches: false, ticket: &[] };
}
