use std::path::Path;

use crate::contender::{Contender, Named};
use crate::disk::Model;

/// What a server has for stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Storage {
    pub(super) name: &'static str,
    pub(super) device: Device,
    has_log: bool,
    has_group_commit: bool,
    /// What the source calls a server like this.
    pub(super) source_name: Option<&'static str>,
}

/// What the export lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    /// An array of disks.
    Array,
    /// A single disk.
    Single,
}

impl Device {
    pub(super) const ALL: [Device; 2] = [Device::Array, Device::Single];

    pub(super) fn name(self) -> &'static str {
        match self {
            Device::Array => "array",
            Device::Single => "single-disk",
        }
    }

    pub(super) fn model(self) -> Model {
        match self {
            Device::Array => Model::ARRAY,
            Device::Single => Model::SINGLE,
        }
    }
}

pub(super) const NONE: &str = "none";
pub(super) const AGAIN: &str = "none, again (A/A)";
pub(super) const FAST_LOG: &str = "log on a fast device";
pub(super) const SINGLE: &str = "none, single disk";
pub(super) const SINGLE_LOG: &str = "log before a single disk";
pub(super) const BOTH: &str = "log and group commit";

const ALL: [Storage; 7] = [
    Storage::new(NONE, Device::Array).like("SSA"),
    Storage::new(AGAIN, Device::Array),
    Storage::new("group commit", Device::Array).with_group_commit(),
    Storage::new(FAST_LOG, Device::Array).with_log().like("SSA+RAM"),
    Storage::new(BOTH, Device::Array).with_log().with_group_commit().like("SSA+RAM+Pr"),
    Storage::new(SINGLE, Device::Single).like("UFS"),
    Storage::new(SINGLE_LOG, Device::Single).with_log().like("UFS+Pr"),
];

/// All kinds of storage that are wanted, the reference first.
pub(super) fn all(has_group_commit: bool, has_single: bool) -> Vec<Storage> {
    let is_wanted = |storage: &Storage| {
        (has_group_commit || !storage.has_group_commit) && (has_single || storage.device != Device::Single)
    };
    ALL.into_iter().filter(is_wanted).collect()
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

    /// The server with this storage; its log of so many bytes, if it has one, lies in a directory of `logs`. The kernel
    /// reads ahead, as the source's did.
    pub(super) fn server(self, logs: &Path, log_bytes: u64) -> Named {
        let group_commit = if self.has_group_commit { "on" } else { "off" };
        let mut arguments = ["--read-ahead", "kernel", "--group-commit", group_commit].map(str::to_owned).to_vec();
        if self.has_log {
            let file = logs.join(self.name.replace(' ', "-")).display().to_string();
            arguments.extend(["--write-log".to_owned(), file]);
            // It is in memory.
            arguments.extend(["--write-log-size".to_owned(), log_bytes.to_string(), "--lose-my-data".to_owned()]);
        }
        Named { name: self.name.to_owned(), contender: Contender::Wharf(arguments) }
    }
}

/// The level of the storage that the source calls so.
pub(super) fn like(source_name: &str) -> &'static str {
    ALL.iter().find(|storage| storage.source_name == Some(source_name)).map_or(NONE, |storage| storage.name)
}
