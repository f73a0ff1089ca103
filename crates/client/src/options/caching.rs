use std::time::Duration;

/// Which answers to lookups are believed for as long as a directory's attributes are (nfs(5), `lookupcache`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameCaching {
    /// That a name is there, and that it is not.
    All,
    /// That a name is there; one that is not is asked for again.
    Positive,
    /// None.
    Off,
}

/// What a mount keeps in memory of what the server told it, and for how long. The names are those of nfs(5).
///
/// Operations of a [`Mount`](crate::Mount) itself always ask the server; `Dir` and the positional reads and
/// writes of a [`File`](crate::File) use the caches.
///
/// ```
/// use client::Caching;
///
/// let fresh = Caching { is_direct: true, ..Caching::without_attributes() };
/// assert!(fresh.file_min.is_zero());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caching {
    /// The shortest time that attributes of anything but a directory are believed (`acregmin`).
    pub file_min: Duration,
    /// The longest (`acregmax`). Attributes that did not change for long are believed longer.
    pub file_max: Duration,
    /// The shortest time that attributes of a directory are believed (`acdirmin`).
    pub dir_min: Duration,
    /// The longest (`acdirmax`).
    pub dir_max: Duration,
    /// Whether opening a file asks the server for its attributes, and closing it writes what was changed (`cto`, `nocto`).
    pub close_to_open: bool,
    /// Which answers to lookups are believed (`lookupcache`).
    pub names: NameCaching,
    /// Whether data is neither kept nor written late (`direct`): each read and write is the server's.
    pub is_direct: bool,
    /// Whether what is written to a [`File`](crate::File) is on the server's stable storage when the call returns, with its errors (`sync`).
    /// It is kept for readers all the same. One WRITE that is stable by itself (FILE_SYNC) carries what one can, and else a COMMIT follows.
    pub is_synchronous: bool,
    /// The size of a block of data, in bytes: a power of two from 4 KiB to 1 MiB, to which other numbers are brought.
    pub block_bytes: u32,
    /// The most bytes of data that are kept for the whole mount, changed ones among them; eight blocks at the least.
    pub max_bytes: u64,
    /// The most bytes of a single read that are kept. Those of a larger one are brought to whoever asks for so much at once, who keeps them, as the
    /// kernel does for `wharf mount`; what was changed or is kept already is read from here all the same.
    pub max_kept_read_bytes: u64,
    /// The most changed bytes that wait to be written, from one block to half of [`Caching::max_bytes`]; whoever writes more waits.
    pub max_dirty_bytes: u64,
    /// How far ahead of a sequential reader data is asked for, in bytes, up to a quarter of [`Caching::max_bytes`]; 0 turns it off.
    pub read_ahead_bytes: u64,
    /// The most attributes, names, rights, targets and directories that are kept, of each; 1 at the least.
    pub max_entries: usize,
}

impl Caching {
    /// With attributes that are never believed (`actimeo=0`). nfs(5)'s `noac` means synchronous writes as well:
    ///
    /// ```
    /// use client::Caching;
    ///
    /// let noac = Caching { is_synchronous: true, ..Caching::without_attributes() };
    /// assert!(noac.file_max.is_zero());
    /// ```
    pub fn without_attributes() -> Caching {
        let never = Duration::ZERO;
        Caching { file_min: never, file_max: never, dir_min: never, dir_max: never, ..Caching::default() }
    }
}

impl Default for Caching {
    fn default() -> Self {
        Caching {
            file_min: Duration::from_secs(3),
            file_max: Duration::from_secs(60),
            dir_min: Duration::from_secs(30),
            dir_max: Duration::from_secs(60),
            close_to_open: true,
            names: NameCaching::All,
            is_direct: false,
            is_synchronous: false,
            block_bytes: 64 * 1024,
            max_bytes: 256 * 1024 * 1024,
            max_kept_read_bytes: u64::MAX,
            max_dirty_bytes: 32 * 1024 * 1024,
            read_ahead_bytes: 4 * 1024 * 1024,
            max_entries: 65_536,
        }
    }
}
