/// Whose identity a client's users lose (exports(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Squash {
    /// Nobody's.
    None,
    /// The superuser's: user 0 and group 0 become the anonymous ones.
    Root,
    /// Everybody's.
    All,
}

/// How an export is offered to some clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportOptions {
    /// Whether nothing may be changed.
    pub read_only: bool,
    /// Whose identity is lost.
    pub squash: Squash,
    /// The anonymous user.
    pub anonymous_uid: u32,
    /// The anonymous group.
    pub anonymous_gid: u32,
    /// Whether files may be delegated to clients of NFSv4. Without it, those are that nobody but the server changes.
    pub delegations: Option<bool>,
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
            delegations: None,
            privileged_ports_only: false,
        }
    }
}
