use std::path::Path;

use serde::Serialize;
use stable::{Check, SetAside};
use vfs::quoted;

/// A log in `--json`.
#[derive(Debug, Serialize)]
pub struct LogRecord {
    path: String,
    size_bytes: u64,
    used_bytes: u64,
    exports: Vec<String>,
    batches: u64,
    records: u64,
    record_bytes: u64,
    oldest_age_ms: Option<u64>,
    clean: bool,
    interrupted_write: bool,
    damaged_header: bool,
    damages: Vec<DamageRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_aside: Option<SetAsideRecords>,
}

/// Changes that replays did not make.
#[derive(Debug, Serialize)]
struct SetAsideRecords {
    path: String,
    /// Unknown without a state directory.
    changes: Option<Vec<SetAsideRecord>>,
}

/// One of them.
#[derive(Debug, Serialize)]
struct SetAsideRecord {
    export: String,
    file: String,
    change: String,
    kept_as: Option<String>,
    reason: String,
    remedy: String,
    data_bytes: u64,
}

/// A damaged part of the file.
#[derive(Debug, Serialize)]
struct DamageRecord {
    from_bytes: u64,
    to_bytes: u64,
}

impl LogRecord {
    /// The record of the log at `path`.
    pub fn new(path: &Path, check: &Check) -> LogRecord {
        let damages = check.damages.iter();
        LogRecord {
            path: text(path),
            size_bytes: check.size_bytes,
            used_bytes: check.used_bytes,
            exports: stable::owners_exports(&check.owner).unwrap_or_default().iter().map(|dir| text(dir)).collect(),
            batches: check.batches,
            records: check.records,
            record_bytes: check.record_bytes,
            oldest_age_ms: check.oldest_age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
            clean: check.is_clean(),
            interrupted_write: check.has_torn_end,
            damaged_header: check.has_damaged_header,
            damages: damages
                .map(|damage| DamageRecord { from_bytes: damage.from_bytes, to_bytes: damage.to_bytes })
                .collect(),
            set_aside: None,
        }
    }

    /// The same with changes that replays did not make, which this file has.
    pub fn with_set_aside(self, path: &Path, changes: Option<Vec<SetAside>>) -> LogRecord {
        let record = |SetAside { export, file, change, kept_as, reason, remedy, data_bytes }| SetAsideRecord {
            export,
            file,
            change,
            kept_as,
            reason,
            remedy,
            data_bytes,
        };
        let changes = changes.map(|changes| changes.into_iter().map(record).collect());
        LogRecord { set_aside: Some(SetAsideRecords { path: text(path), changes }), ..self }
    }
}

/// A path, quoted for the shell if it is not UTF-8: JSON has no other bytes.
fn text(path: &Path) -> String {
    path.to_str().map_or_else(|| quoted(path), str::to_owned)
}
