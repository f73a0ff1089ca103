//! A tree of small files of this machine, and the steps of a build in it.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::build::{FILES_PER_DIR, NEW, TreePlan, dir_name, file_name};
use super::payload::Payload;
use super::{BuildStep, Error, OperationError, Stop};
use crate::leftovers;

pub(super) struct LocalTree {
    root: PathBuf,
    plan: TreePlan,
}

impl LocalTree {
    /// Makes a tree in a directory.
    pub(super) fn new(parent: &Path, plan: TreePlan, payload: &Payload, stop: &Stop) -> Result<LocalTree, Error> {
        let tree = LocalTree { root: parent.join(&plan.name), plan };
        let failed = |source| OperationError::Local { path: tree.root.clone(), source };
        fs::create_dir(&tree.root).map_err(failed)?;
        match tree.fill(payload, stop) {
            Ok(true) => Ok(tree),
            unfinished => {
                let _ = tree.remove();
                unfinished.map_err(failed)?;
                Err(Error::Stopped)
            }
        }
    }

    /// Whether it was not stopped.
    fn fill(&self, payload: &Payload, stop: &Stop) -> io::Result<bool> {
        (0..self.plan.dirs()).try_for_each(|number| fs::create_dir(self.root.join(dir_name(number))))?;
        for (number, &bytes) in (0..).zip(&self.plan.sizes) {
            if stop.is_stopped() {
                return Ok(false);
            }
            fs::write(self.path(number), payload.block(0, bytes))?;
        }
        Ok(true)
    }

    fn path(&self, file: u64) -> PathBuf {
        self.root.join(dir_name(file / FILES_PER_DIR)).join(file_name(file))
    }

    /// Does a step with the file of this random number, and these bytes where it writes. Returns how many were moved.
    pub(super) fn carry_out(&self, step: BuildStep, number: u64, data: &[u8]) -> io::Result<u64> {
        let path = self.path(self.plan.file(number));
        let new = path.with_file_name(NEW);
        match step {
            BuildStep::Write => {
                File::create(&new)?.write_all(data)?;
                fs::rename(&new, &path)?;
                return Ok(data.len() as u64);
            }
            BuildStep::Read => {
                let mut bytes = Vec::with_capacity(data.len());
                return Ok(File::open(&path)?.read_to_end(&mut bytes)? as u64);
            }
            BuildStep::CreateRemove => {
                File::create(&new)?;
                fs::remove_file(&new)?;
            }
            BuildStep::MakeDir => {
                let new = self.root.join(NEW);
                fs::create_dir(&new)?;
                fs::remove_dir(&new)?;
            }
            BuildStep::List => {
                let dir = path.parent().unwrap_or(&self.root);
                fs::read_dir(dir)?.try_for_each(|entry| entry?.metadata().map(drop))?;
            }
            BuildStep::Stat => fs::symlink_metadata(&path).map(drop)?,
            BuildStep::Access => rustix::fs::access(&path, Access::READ_OK)?,
            BuildStep::Chmod => fs::set_permissions(&path, Permissions::from_mode(0o644))?,
        }
        Ok(0)
    }

    /// Removes all of it.
    pub(super) fn remove(&self) -> io::Result<()> {
        for number in 0..self.plan.dirs() {
            let _ = fs::remove_dir_all(self.root.join(dir_name(number)));
            leftovers::note_progress();
        }
        fs::remove_dir_all(&self.root)
    }
}
