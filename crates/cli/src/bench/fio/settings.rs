//! The settings of one job, and what each key of fio means here.

use std::collections::BTreeMap;

use super::ini::{Section, Setting};
use crate::failure::FioProblem as Problem;

/// Other names of a key.
const ALIASES: [(&str, &str); 4] =
    [("readwrite", "rw"), ("blocksize", "bs"), ("fdatasync", "fsync"), ("wait_for_previous", "stonewall")];

/// Keys that are off when they are 0.
const ZERO_IS_OFF: [&str; 8] =
    ["fsync", "rate", "rate_iops", "thinktime", "ramp_time", "sync", "stonewall", "time_based"];

/// Keys that change nothing for a client of its own: how fio shows results, makes files and starts processes. The URL
/// takes the place of the directory.
const WITHOUT_EFFECT: [&str; 9] = [
    "create_serialize",
    "description",
    "directory",
    "disk_util",
    "fallocate",
    "group_reporting",
    "invalidate",
    "new_group",
    "thread",
];

/// Keys with one possible value, and why.
const FIXED: [(&str, &str, &str); 11] = [
    ("buffered", "0", "operations go over the wire, past every cache, and to a path buffered: remove the line"),
    ("direct", "1", "operations go over the wire, past every cache, and to a path buffered: remove the line"),
    ("end_fsync", "1", "a COMMIT always follows the last write: remove the line"),
    ("kb_base", "1024", "1k is 1024 bytes: write other sizes in bytes"),
    ("loops", "1", "a job runs once: multiply io_size instead"),
    ("norandommap", "0", "each block is used once before one is repeated: remove the line"),
    ("nrfiles", "1", "a job has one file: remove the line"),
    ("overwrite", "1", "files are filled before they are written: remove the line"),
    ("randrepeat", "1", "random orders follow from randseed: set that instead"),
    ("scramble_buffers", "1", "use refill_buffers, or zero_buffers, or neither"),
    ("thinktime_blocks", "1", "a pause follows each operation: remove the line"),
];

/// The settings that are still to be used, by their key.
#[derive(Debug)]
pub(super) struct Settings(BTreeMap<String, Setting>);

impl Settings {
    /// The last setting of each key counts.
    pub(super) fn of(section: &Section) -> Settings {
        let key = |key: &str| ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, name)| name).to_owned();
        Settings(section.settings.iter().map(|setting| (key(&setting.key), setting.clone())).collect())
    }

    /// Takes the setting of a key, unless it is off.
    pub(super) fn take(&mut self, key: &str) -> Option<Setting> {
        self.0.remove(key).filter(|setting| !(ZERO_IS_OFF.contains(&key) && setting.value == "0"))
    }

    /// Takes the setting of a key that is on or off.
    pub(super) fn is_on(&mut self, key: &str) -> bool {
        self.take(key).is_some_and(|setting| setting.value != "0")
    }

    /// The setting of a key, if there is one.
    pub(super) fn get(&self, key: &str) -> Option<&Setting> {
        self.0.get(key)
    }

    /// The value of a key.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        self.get(key).map(|setting| setting.value.as_str())
    }

    /// Refuses what was not taken, unless it has no effect.
    pub(super) fn check_rest(self) -> Result<(), (usize, Problem)> {
        self.0.into_iter().try_for_each(|(key, setting)| check(&key, setting))
    }
}

fn check(key: &str, setting: Setting) -> Result<(), (usize, Problem)> {
    if WITHOUT_EFFECT.contains(&key) {
        return Ok(());
    }
    match FIXED.iter().find(|(fixed, _, _)| *fixed == key) {
        Some((_, value, _)) if *value == setting.value => Ok(()),
        Some((_, _, why)) => Err(refuse(&setting, *why)),
        None => Err((setting.line, Problem::Key(setting.key))),
    }
}

/// Says why a value is not possible.
pub(super) fn refuse(setting: &Setting, why: impl Into<String>) -> (usize, Problem) {
    let Setting { key, value, line } = setting.clone();
    (line, Problem::Value { key, value, why: why.into() })
}
