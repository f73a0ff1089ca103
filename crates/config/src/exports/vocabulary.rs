//! The options of exports(5) that Wharf ignores or refuses, with the reasons.

/// What happens to an option that changes nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Wharf already behaves so.
    AlreadySo,
    /// It has no effect, and ignoring it is safe; the log says why.
    NoEffect(&'static str),
    /// Ignoring it would offer something else than the user wants.
    Refused(&'static str),
}

/// The options that [`Offer::apply`](super::offer::Offer::apply) knows.
const EFFECTIVE: [&str; 19] = [
    "ro",
    "rw",
    "secure",
    "insecure",
    "sync",
    "async",
    "acl",
    "no_acl",
    "xattr",
    "no_xattr",
    "delegations",
    "no_delegations",
    "root_squash",
    "no_root_squash",
    "all_squash",
    "no_all_squash",
    "anonuid",
    "anongid",
    "fsid",
];

const NEVER_LEFT: &str = "a file handle never leaves its export, so no path is checked per request";
const MOUNTS: &str = "file systems mounted below the export are not included; export each on its own line";
const ENTERED: &str = "clients enter an export inside another one by its own rules";
const CHECKED_LOCKS: &str = "a file's owner and users who may read or write it can lock it";
const NO_TLS: &str = "TLS is not supported";
const NO_KERBEROS: &str = "only `sys` is supported";
const NO_REFERRALS: &str = "referrals are not supported";

/// The other options, with their values where a value matters.
const OTHERS: [(&str, Fate); 29] = [
    ("subtree_check", Fate::NoEffect(NEVER_LEFT)),
    ("no_subtree_check", Fate::AlreadySo),
    ("hide", Fate::NoEffect(ENTERED)),
    ("nocrossmnt", Fate::AlreadySo),
    ("nohide", Fate::AlreadySo),
    ("crossmnt", Fate::NoEffect(MOUNTS)),
    ("wdelay", Fate::NoEffect("writes are not delayed")),
    ("no_wdelay", Fate::AlreadySo),
    ("secure_locks", Fate::AlreadySo),
    ("auth_nlm", Fate::AlreadySo),
    ("insecure_locks", Fate::NoEffect(CHECKED_LOCKS)),
    ("no_auth_nlm", Fate::NoEffect(CHECKED_LOCKS)),
    ("pnfs", Fate::Refused("pNFS is not supported")),
    ("no_pnfs", Fate::AlreadySo),
    ("nordirplus", Fate::NoEffect("READDIRPLUS is always offered")),
    ("rdirplus", Fate::AlreadySo),
    ("sec=sys", Fate::AlreadySo),
    ("sec=unix", Fate::AlreadySo),
    ("sec", Fate::Refused(NO_KERBEROS)),
    ("xprtsec=none", Fate::AlreadySo),
    ("xprtsec", Fate::Refused(NO_TLS)),
    ("mp", Fate::Refused("Wharf does not check whether a directory is a mount point")),
    ("mountpoint", Fate::Refused("Wharf does not check whether a directory is a mount point")),
    ("refer", Fate::Refused(NO_REFERRALS)),
    ("replicas", Fate::Refused(NO_REFERRALS)),
    ("security_label", Fate::Refused("security labels are not supported")),
    ("reexport", Fate::NoEffect("exports are identified by name or fsid, also re-exports")),
    ("fsuidroot", Fate::Refused("it is not supported")),
    ("no_fsuidroot", Fate::AlreadySo),
];

/// Returns the fate of the option `name`, or `None` if exports(5) does not have it.
pub(super) fn fate(name: &str, value: Option<&str>) -> Option<Fate> {
    let whole = value.map(|value| format!("{name}={value}"));
    let find = |wanted: &str| OTHERS.iter().find(|(known, _)| *known == wanted).map(|(_, fate)| *fate);
    whole.as_deref().and_then(find).or_else(|| find(name))
}

/// Every option name.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let others = OTHERS.iter().map(|(name, _)| *name).filter(|name| !name.contains('='));
    EFFECTIVE.into_iter().chain(others)
}
