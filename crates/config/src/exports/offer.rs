use access_rules::{DelegationPolicy, ExportOptions};

use super::reader::Located;
use crate::defaults::IdentityWords;
use crate::id::Id;
use crate::{Defaults, Position, Reason};

/// The options of one client.
#[derive(Debug, Clone, Default)]
pub(super) struct Offer {
    /// `rw`
    pub(super) is_writable: bool,
    /// `insecure`
    pub(super) is_insecure: bool,
    /// `async` or `sync`
    pub(super) is_async: bool,
    /// `no_acl`
    pub(super) hides_acls: bool,
    /// `no_xattr`
    pub(super) hides_xattrs: bool,
    /// `delegations`, `delegations=` or `no_delegations`
    pub(super) delegations: DelegationPolicy,
    pub(super) identity: IdentityWords,
    /// `fsid=`, and its place.
    pub(super) fsid: Option<(u64, Position)>,
}

impl Offer {
    pub(super) fn options(&self, defaults: &Defaults) -> ExportOptions {
        ExportOptions {
            read_only: !self.is_writable,
            privileged_ports_only: !self.is_insecure,
            delegations: self.delegations,
            offers_acls: !self.hides_acls,
            offers_xattrs: !self.hides_xattrs,
            ..self.identity.options(defaults)
        }
    }

    /// Applies the option `name` with its value. Returns whether the option has an effect.
    pub(super) fn apply(&mut self, name: &str, value: Option<&str>, position: Position) -> Result<bool, Located> {
        match (name, value) {
            ("ro", None) => self.is_writable = false,
            ("rw", None) => self.is_writable = true,
            ("secure", None) => self.is_insecure = false,
            ("insecure", None) => self.is_insecure = true,
            ("sync", None) => self.is_async = false,
            ("async", None) => self.is_async = true,
            ("acl", None) => self.hides_acls = false,
            ("no_acl", None) => self.hides_acls = true,
            ("xattr", None) => self.hides_xattrs = false,
            ("no_xattr", None) => self.hides_xattrs = true,
            ("delegations", None) => self.delegations = DelegationPolicy::Always,
            ("delegations", Some(word)) => self.delegations = delegations(word, position)?,
            ("no_delegations", None) => self.delegations = DelegationPolicy::Off,
            ("root_squash", None) => self.identity.root = Some(true),
            ("no_root_squash", None) => self.identity.root = Some(false),
            ("all_squash", None) => self.identity.all = Some(true),
            ("no_all_squash", None) => self.identity.all = Some(false),
            ("anonuid", value) => self.identity.anonymous_uid = Some(identity(name, value, position)?),
            ("anongid", value) => self.identity.anonymous_gid = Some(identity(name, value, position)?),
            ("fsid", value) => self.fsid = Some((fsid(value, position)?, position)),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn delegations(word: &str, position: Position) -> Result<DelegationPolicy, Located> {
    match word {
        "auto" => Ok(DelegationPolicy::Auto),
        "always" => Ok(DelegationPolicy::Always),
        "off" => Ok(DelegationPolicy::Off),
        _ => {
            let wanted = "auto, always or off, as in `=auto`";
            Err((position, Reason::Value { option: "delegations".to_owned(), wanted }))
        }
    }
}

/// Reads a user or group ID. Negative numbers count down from 2³², as in nfs-utils.
fn identity(name: &str, value: Option<&str>, position: Position) -> Result<u32, Located> {
    let number = value.and_then(|value| {
        let unsigned = value.parse::<u32>().ok();
        unsigned.or_else(|| value.parse::<i32>().ok().map(i32::cast_unsigned))
    });
    let wanted = match number {
        None => "a number, as in `=65534`",
        Some(number) => match Id::try_from(number) {
            Ok(Id(number)) => return Ok(number),
            Err(_) => "a number other than -1, which is no user and no group",
        },
    };
    Err((position, Reason::Value { option: name.to_owned(), wanted }))
}

/// Reads `root`, a number or a UUID. The halves of a UUID are combined into one number, practically unique.
fn fsid(value: Option<&str>, position: Position) -> Result<u64, Located> {
    let number = value.and_then(|value| match value {
        "root" => Some(0),
        _ => value.parse().ok().or_else(|| uuid(value)),
    });
    let wanted = "a number, `root` or a UUID, as in `=7`";
    number.ok_or_else(|| (position, Reason::Value { option: "fsid".to_owned(), wanted }))
}

fn uuid(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|character| !matches!(character, '-' | ':' | '.')).collect();
    if digits.len() != 32 {
        return None;
    }
    let number = u128::from_str_radix(&digits, 16).ok()?;
    Some((number >> 64) as u64 ^ number as u64)
}
