//! The options of exports(5) that Wharf takes without effect or refuses, with the reasons.

/// What becomes of an option that changes nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It asks for what Wharf does anyway.
    AlreadySo,
    /// It has no effect, and it is safe to go on; the log says why.
    NoEffect(&'static str),
    /// Going on without it would offer something else than was meant.
    Refused(&'static str),
}

/// The options that [`Offer::apply`](super::offer::Offer::apply) knows.
const EFFECTIVE: [&str; 15] = [
    "ro",
    "rw",
    "secure",
    "insecure",
    "sync",
    "async",
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

const NEVER_LEFT: &str = "a file handle never leads out of its export, and no path is checked per call";
const MOUNTS: &str =
    "another file system that is mounted below the export is not entered; export it on a line of its own";
const ENTERED: &str = "an export inside of another one is entered from there, by its own rules";
const CHECKED_LOCKS: &str = "a file is locked by who may read or write it, and by its owner";
const NO_TLS: &str = "connections are not encrypted";
const NO_KERBEROS: &str = "only `sys` is supported";
const NO_REFERRALS: &str = "referrals belong to NFSv4";

/// The other options, with their values where one matters.
const OTHERS: [(&str, Fate); 31] = [
    ("subtree_check", Fate::NoEffect(NEVER_LEFT)),
    ("no_subtree_check", Fate::AlreadySo),
    ("hide", Fate::NoEffect(ENTERED)),
    ("nocrossmnt", Fate::AlreadySo),
    ("nohide", Fate::AlreadySo),
    ("crossmnt", Fate::NoEffect(MOUNTS)),
    ("wdelay", Fate::NoEffect("each write is done when it comes")),
    ("no_wdelay", Fate::AlreadySo),
    ("secure_locks", Fate::AlreadySo),
    ("auth_nlm", Fate::AlreadySo),
    ("insecure_locks", Fate::NoEffect(CHECKED_LOCKS)),
    ("no_auth_nlm", Fate::NoEffect(CHECKED_LOCKS)),
    ("acl", Fate::NoEffect("the NFSACL protocol is not offered; ACLs of the files are obeyed")),
    ("no_acl", Fate::AlreadySo),
    ("pnfs", Fate::Refused("pNFS belongs to NFSv4.1")),
    ("no_pnfs", Fate::AlreadySo),
    ("nordirplus", Fate::NoEffect("READDIRPLUS is always offered")),
    ("rdirplus", Fate::AlreadySo),
    ("sec=sys", Fate::AlreadySo),
    ("sec=unix", Fate::AlreadySo),
    ("sec", Fate::Refused(NO_KERBEROS)),
    ("xprtsec=none", Fate::AlreadySo),
    ("xprtsec", Fate::Refused(NO_TLS)),
    ("mp", Fate::Refused("whether the directory is a mount point is not checked")),
    ("mountpoint", Fate::Refused("whether the directory is a mount point is not checked")),
    ("refer", Fate::Refused(NO_REFERRALS)),
    ("replicas", Fate::Refused(NO_REFERRALS)),
    ("security_label", Fate::Refused("security labels belong to NFSv4.2")),
    ("reexport", Fate::NoEffect("an export is known by its name or fsid, whatever it is on")),
    ("fsuidroot", Fate::Refused("it is not supported")),
    ("no_fsuidroot", Fate::AlreadySo),
];

/// What becomes of the option `name`, or `None` for one that exports(5) does not have.
pub(super) fn fate(name: &str, value: Option<&str>) -> Option<Fate> {
    let whole = value.map(|value| format!("{name}={value}"));
    let find = |wanted: &str| OTHERS.iter().find(|(known, _)| *known == wanted).map(|(_, fate)| *fate);
    whole.as_deref().and_then(find).or_else(|| find(name))
}

/// Every name that an option can have.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let others = OTHERS.iter().map(|(name, _)| *name).filter(|name| !name.contains('='));
    EFFECTIVE.into_iter().chain(others)
}
