use std::time::Duration;

/// Which results of lookups are cached for as long as a directory's attributes are valid (nfs(5), `lookupcache`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameCaching {
    /// Names that exist, and names that do not.
    All,
    /// Names that exist only.
    Positive,
    /// None.
    Off,
}

/// What a mount caches, and for how long. The names are those of nfs(5).
///
/// Operations of a `Mount` itself always ask the server; `Dir` and the positional reads and writes of a
/// `File` use the caches.
///
/// ```
/// use client::Caching;
///
/// let fresh = Caching { is_direct: true, ..Caching::without_attributes() };
/// assert!(fresh.file_min.is_zero());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caching {
    /// The shortest time that attributes of anything but a directory are valid (`acregmin`).
    pub file_min: Duration,
    /// The longest (`acregmax`). Attributes that did not change for long are valid longer.
    pub file_max: Duration,
    /// The shortest time that attributes of a directory are valid (`acdirmin`).
    pub dir_min: Duration,
    /// The longest (`acdirmax`).
    pub dir_max: Duration,
    /// Whether opening a file fetches its attributes from the server, and closing it writes its changes (`cto`,
    /// `nocto`).
    pub close_to_open: bool,
    /// Which results of lookups are cached (`lookupcache`).
    pub names: NameCaching,
    /// Whether data is neither cached nor written late (`direct`): each read and write goes to the server.
    pub is_direct: bool,
    /// Whether a write to a `File` returns only once the data is on the server's stable storage, with
    /// its errors (`sync`). The data is still cached for readers. A single stable WRITE (FILE_SYNC) carries the data if
    /// one suffices; else a COMMIT follows.
    pub is_synchronous: bool,
    /// The size of a block of data, in bytes: a power of two from 4 KiB to 1 MiB; other values are adjusted.
    pub block_bytes: u32,
    /// The most bytes of cached data of the whole mount, dirty data included; at least eight blocks.
    pub max_bytes: u64,
    /// The most bytes of a single read that are cached. A larger read bypasses the cache, because its caller caches the
    /// data, like the kernel under `wharf mount`. Data that is dirty or cached already is still read from the cache.
    pub max_kept_read_bytes: u64,
    /// The most dirty bytes, from one block to half of [`Caching::max_bytes`]; a writer beyond that waits.
    pub max_dirty_bytes: u64,
    /// The read-ahead for sequential readers, in bytes, up to a quarter of [`Caching::max_bytes`]; 0 turns it off.
    pub read_ahead_bytes: u64,
    /// The most cached attributes, names, rights, link targets and directories, of each; at least 1.
    pub max_entries: usize,
}

impl Caching {
    /// No attribute caching (`actimeo=0`). nfs(5)'s `noac` means synchronous writes as well:
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
