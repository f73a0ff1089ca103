use std::path::Path;

use crate::contender::{Contender, Named};

/// What a server has for stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Storage {
    pub(super) name: &'static str,
    device: Device,
    has_log: bool,
    has_group_commit: bool,
    /// What the source calls a server like this.
    pub(super) source_name: Option<&'static str>,
}

/// What the export lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Device {
    /// The disk as it is, in place of the source's array.
    Array,
    /// The disk with a delay before everything that has to be stable, in place of the source's single disk.
    Slow,
}

/// How long the slow device takes to make something stable: about a turn and a seek of a disk of 1995.
pub(super) const SLOW_MS: u32 = 8;
/// How large the logs are.
pub(super) const LOG_MIB: u32 = 32;

pub(super) const NONE: &str = "none";
pub(super) const AGAIN: &str = "none, again (A/A)";
pub(super) const FAST_LOG: &str = "log on a fast device";
pub(super) const SLOW: &str = "none, slow device";
pub(super) const SLOW_LOG: &str = "log before a slow device";
pub(super) const BOTH: &str = "log and group commit";

const ALL: [Storage; 7] = [
    Storage::new(NONE, Device::Array).like("SSA"),
    Storage::new(AGAIN, Device::Array),
    Storage::new("group commit", Device::Array).with_group_commit(),
    Storage::new(FAST_LOG, Device::Array).with_log().like("SSA+RAM"),
    Storage::new(BOTH, Device::Array).with_log().with_group_commit().like("SSA+RAM+Pr"),
    Storage::new(SLOW, Device::Slow).like("UFS"),
    Storage::new(SLOW_LOG, Device::Slow).with_log().like("UFS+Pr"),
];

/// All kinds of storage, the reference first.
pub(super) fn all(is_quick: bool) -> Vec<Storage> {
    ALL.into_iter().filter(|storage| !is_quick || !storage.has_group_commit).collect()
}

impl Storage {
    const fn new(name: &'static str, device: Device) -> Storage {
        Storage { name, device, has_log: false, has_group_commit: false, source_name: None }
    }

    const fn with_log(self) -> Storage {
        Storage { has_log: true, ..self }
    }

    const fn with_group_commit(self) -> Storage {
        Storage { has_group_commit: true, ..self }
    }

    const fn like(self, source_name: &'static str) -> Storage {
        Storage { source_name: Some(source_name), ..self }
    }

    /// The server with this storage; its log, if it has one, lies in a directory of `logs`.
    pub(super) fn server(self, logs: &Path) -> Named {
        let group_commit = if self.has_group_commit { "on" } else { "off" };
        let mut arguments = vec!["--group-commit".to_owned(), group_commit.to_owned()];
        if self.has_log {
            let file = logs.join(self.name.replace(' ', "-")).display().to_string();
            arguments.extend(["--write-log".to_owned(), file]);
            // It is in memory.
            arguments.extend(["--write-log-size".to_owned(), format!("{LOG_MIB}M"), "--lose-my-data".to_owned()]);
        }
        if self.device == Device::Slow {
            let delays = format!("sync:delay={SLOW_MS}ms,stable_write:delay={SLOW_MS}ms");
            arguments.extend(["--fault".to_owned(), delays]);
        }
        Named { name: self.name.to_owned(), contender: Contender::Wharf(arguments) }
    }
}

/// The level of the storage that the source calls so.
pub(super) fn like(source_name: &str) -> &'static str {
    ALL.iter().find(|storage| storage.source_name == Some(source_name)).map_or(NONE, |storage| storage.name)
}
