//! Where the kernel's controllers are (cgroups(7)), and the groups that runs make.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

/// What the name of every group begins with.
const PREFIX: &str = "wharf-lab-";

/// Where a controller is mounted, and the group of this process below.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) is_v2: bool,
    pub(crate) root: PathBuf,
    group: String,
}

impl Place {
    /// Finds a controller by its names in v1 and v2; `None` where it is mounted nowhere.
    ///
    /// # Errors
    /// The file that cannot be read.
    pub(crate) fn find(v1: &str, v2: &str) -> Result<Option<Place>, (PathBuf, io::Error)> {
        let read = |path: &str| fs::read_to_string(path).map_err(|source| (PathBuf::from(path), source));
        let place = Place::parse(&read("/proc/self/cgroup")?, &read("/proc/self/mounts")?, v1);
        Ok(place.filter(|place| !place.is_v2 || place.has(v2)))
    }

    /// Whether the groups of v2 may have a controller.
    fn has(&self, controller: &str) -> bool {
        let all = fs::read_to_string(self.root.join("cgroup.controllers")).unwrap_or_default();
        all.split_whitespace().any(|name| name == controller)
    }

    /// From `/proc/self/cgroup` and the mounts: v1 where it has the controller, v2 otherwise.
    fn parse(groups: &str, mounts: &str, v1: &str) -> Option<Place> {
        let group = |controller: &str| {
            groups.lines().find_map(|line| {
                let mut fields = line.splitn(3, ':').skip(1);
                fields.next().filter(|names| names.split(',').any(|name| name == controller))?;
                fields.next().map(str::to_owned)
            })
        };
        let root = |kind: &str, option: &str| {
            mounts.lines().find_map(|line| {
                let mut fields = line.split(' ').skip(1);
                let (path, is_kind) = (fields.next()?, fields.next()? == kind);
                let has_option = option.is_empty() || fields.next()?.split(',').any(|name| name == option);
                (is_kind && has_option).then(|| PathBuf::from(path))
            })
        };
        let place =
            |is_v2, root: Option<PathBuf>, group: Option<String>| Some(Place { is_v2, root: root?, group: group? });
        place(false, root("cgroup", v1), group(v1)).or_else(|| place(true, root("cgroup2", ""), group("")))
    }

    /// The directory of this process's group.
    pub(crate) fn own(&self) -> PathBuf {
        self.root.join(self.group.trim_start_matches('/'))
    }
}

/// The name of a group of this process, for a purpose.
pub(crate) fn name(purpose: &str) -> String {
    format!("{PREFIX}{purpose}{}", process::id())
}

/// Removes the groups of runs that have ended.
pub(crate) fn remove_left(root: &Path) {
    for path in fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.rsplit('-').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // The kernel refuses one with processes: its run is in another container.
            let _ = fs::remove_dir(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controller_of_v1_is_preferred_and_that_of_v2_found_without_it() {
        let mounts =
            "cgroup /cg/cpu cgroup rw,cpu 0 0\ncgroup /cg/io cgroup rw,blkio 0 0\ncgroup2 /cg/all cgroup2 rw 0 0\n";
        let place = |is_v2, root: &str, group: &str| Some(Place { is_v2, root: root.into(), group: group.to_owned() });
        let both = Place::parse("7:blkio:/a\n1:cpu,cpuacct:/b\n0::/c:d\n", mounts, "blkio");
        assert_eq!((both.as_ref().map(Place::own), &both), (Some("/cg/io/a".into()), &place(false, "/cg/io", "/a")));
        assert_eq!(Place::parse("1:cpu,cpuacct:/b\n0::/c:d\n", mounts, "blkio"), place(true, "/cg/all", "/c:d"));
        assert_eq!(Place::parse("1:cpu,cpuacct:/b\n", mounts, "cpu"), place(false, "/cg/cpu", "/b"));
        assert_eq!(Place::parse("7:blkio:/a\n", "cgroup2 /cg/all cgroup2 rw 0 0\n", "blkio"), None);
    }
}
