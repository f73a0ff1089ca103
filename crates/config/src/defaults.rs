use access_rules::{ExportOptions, Squash};

/// The defaults of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defaults {
    /// Which users are squashed.
    pub squash: Squash,
    /// The anonymous user.
    pub anonymous_uid: u32,
    /// The anonymous group.
    pub anonymous_gid: u32,
}

impl Defaults {
    /// For a server that can act as any user: root is squashed.
    pub fn privileged() -> Defaults {
        let ExportOptions { squash, anonymous_uid, anonymous_gid, .. } = ExportOptions::default();
        Defaults { squash, anonymous_uid, anonymous_gid }
    }

    /// For a server that can act only as its own user `uid` and group `gid`: all users are squashed to that user.
    pub fn unprivileged(uid: u32, gid: u32) -> Defaults {
        Defaults { squash: Squash::All, anonymous_uid: uid, anonymous_gid: gid }
    }
}

/// The identity options of an export; the last one of a kind counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IdentityWords {
    /// `root_squash` or `no_root_squash`.
    pub(crate) root: Option<bool>,
    /// `all_squash` or `no_all_squash`.
    pub(crate) all: Option<bool>,
    /// `anonuid=`
    pub(crate) anonymous_uid: Option<u32>,
    /// `anongid=`
    pub(crate) anonymous_gid: Option<u32>,
}

impl IdentityWords {
    /// Returns the export options. Any squash option replaces the default.
    pub(crate) fn options(&self, defaults: &Defaults) -> ExportOptions {
        ExportOptions {
            squash: self.squash().unwrap_or(defaults.squash),
            anonymous_uid: self.anonymous_uid.unwrap_or(defaults.anonymous_uid),
            anonymous_gid: self.anonymous_gid.unwrap_or(defaults.anonymous_gid),
            ..ExportOptions::default()
        }
    }

    fn squash(&self) -> Option<Squash> {
        match (self.all, self.root) {
            (None, None) => None,
            (Some(true), _) => Some(Squash::All),
            (_, Some(false)) => Some(Squash::None),
            _ => Some(Squash::Root),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squash(all: Option<bool>, root: Option<bool>, defaults: Defaults) -> Squash {
        IdentityWords { all, root, ..IdentityWords::default() }.options(&defaults).squash
    }

    #[test]
    fn silence_keeps_the_default() {
        assert_eq!(squash(None, None, Defaults::privileged()), Squash::Root);
        assert_eq!(squash(None, None, Defaults::unprivileged(7, 8)), Squash::All);
        let options = IdentityWords::default().options(&Defaults::unprivileged(7, 8));
        assert_eq!((options.anonymous_uid, options.anonymous_gid), (7, 8));
    }

    #[test]
    fn any_word_replaces_the_default() {
        let own_user = Defaults::unprivileged(7, 8);
        assert_eq!(squash(None, Some(false), own_user), Squash::None);
        assert_eq!(squash(None, Some(true), own_user), Squash::Root);
        assert_eq!(squash(Some(false), None, own_user), Squash::Root);
        assert_eq!(squash(Some(true), Some(false), own_user), Squash::All);
    }
}
