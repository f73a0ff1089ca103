use serde::Deserialize;

/// How files are read and written; `None` means that the source does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSettings {
    /// Whether WRITEs that lie one right behind the other and came together are carried out as one.
    pub gather_writes: Option<bool>,
}

impl StorageSettings {
    /// These settings, and those of `other` where these say nothing.
    pub(crate) fn or(self, other: StorageSettings) -> StorageSettings {
        StorageSettings { gather_writes: self.gather_writes.or(other.gather_writes) }
    }
}
