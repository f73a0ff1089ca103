/// The users that are mapped to the anonymous one (exports(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Squash {
    /// No user.
    None,
    /// The superuser: user 0 and group 0 become the anonymous ones.
    Root,
    /// All users.
    All,
}

/// Which files may be delegated to NFSv4 clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DelegationPolicy {
    /// Files that only the server changes, and those that the host leases to the server.
    #[default]
    Auto,
    /// All files. A local process that changes one is not noticed.
    Always,
    /// None.
    Off,
}

/// The options of an export for some clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportOptions {
    /// Whether changes are refused.
    pub read_only: bool,
    /// The users that are mapped to the anonymous one.
    pub squash: Squash,
    /// The anonymous user.
    pub anonymous_uid: u32,
    /// The anonymous group.
    pub anonymous_gid: u32,
    /// Which files may be delegated to NFSv4 clients.
    pub delegations: DelegationPolicy,
    /// Whether clients may read and set access lists. The server applies them in any case.
    pub offers_acls: bool,
    /// Whether NFSv4.2 clients may use extended attributes.
    pub offers_xattrs: bool,
    /// Whether calls from ports of 1024 and above are refused.
    pub privileged_ports_only: bool,
}

impl ExportOptions {
    /// The user `nobody` of most systems.
    pub const NOBODY: u32 = 65534;
}

impl Default for ExportOptions {
    fn default() -> Self {
        ExportOptions {
            read_only: false,
            squash: Squash::Root,
            anonymous_uid: Self::NOBODY,
            anonymous_gid: Self::NOBODY,
            delegations: DelegationPolicy::Auto,
            offers_acls: true,
            offers_xattrs: true,
            privileged_ports_only: false,
        }
    }
}
