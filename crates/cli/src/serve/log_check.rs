//! Whether write logs let directories be served, for `wharf serve --check`: what a start refuses, it refuses too.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::Source;
use fs_host::{Examined, HostFs, HostOptions};
use vfs::FileSystem;

use super::plan::{Look, Plan};
use super::write_log;
use crate::failure::{ExportError, Failure};

/// Why nothing was checked: a running server holds what a start would look at.
pub const SERVER_RUNS: &str =
    "a server uses the state directory: whether its write log fits to these exports was not checked";

/// Checks the plan's directories against its write log and their marks. Nothing is changed. Returns remarks, also if
/// that cannot be done now.
///
/// # Errors
/// As of a start.
pub fn check(plan: &Plan) -> Result<Vec<String>, Failure> {
    let state_dir = plan.options.state_dir.as_deref();
    if state_dir.is_some_and(daemon::is_state_dir_in_use) {
        return Ok(vec![SERVER_RUNS.to_owned()]);
    }
    let has_no_handles = |look: &Look| matches!(look, Look::Dir(Examined { has_kernel_handles: false, .. }));
    let scratch = state_dir.filter(|_| plan.looks.iter().any(has_no_handles)).map(Scratch::new).transpose()?;
    let (mut opened, mut failures) = (Vec::new(), Vec::new());
    let has_log = plan.settings.write_log.path.is_some();
    for spec in &plan.loaded.exports {
        let Source::Dir(dir) = &spec.source else { continue };
        let checked = open(dir, scratch.as_ref(), has_log).and_then(|fs| {
            if !has_log {
                stable::check_unlogged(dir, &*fs, state_dir)?;
            }
            Ok(fs)
        });
        match checked {
            Ok(fs) if !opened.iter().any(|(known, _)| known == dir) => opened.push((dir.clone(), fs)),
            Ok(_) => {}
            Err(source) => failures.push(Failure::Export { origin: spec.origin.clone(), source }),
        }
    }
    Failure::if_any(failures)?;
    if let (true, Some(state_dir)) = (has_log, state_dir) {
        write_log::check_dirs(&plan.settings.write_log, state_dir, opened)?;
    }
    let mut remarks = missing_files(state_dir)?;
    remarks.extend(write_log::left_behind(&plan.settings.write_log, &plan.loaded.exports, state_dir)?);
    Ok(remarks)
}

/// The files of the state directory that are lost, of which a start warns.
fn missing_files(state_dir: Option<&Path>) -> Result<Vec<String>, Failure> {
    let Some(dir) = state_dir else { return Ok(Vec::new()) };
    let missing = daemon::missing_state_files(dir).map_err(|error| Failure::Start(error.into()))?;
    Ok(missing.into_iter().chain(stable::missing_state(dir)?).map(|flaw| flaw.to_string()).collect())
}

fn open(dir: &Path, scratch: Option<&Scratch>, has_log: bool) -> Result<Arc<dyn FileSystem>, ExportError> {
    let options = HostOptions {
        state_dir: scratch.map(|scratch| scratch.0.clone()),
        is_behind_log: has_log,
        sync_metadata: false,
        ..HostOptions::default()
    };
    Ok(Arc::new(HostFs::open(dir, options)?))
}

/// A directory for the handles of files where the kernel gives none: those of the state directory may be in use.
struct Scratch(PathBuf);

impl Scratch {
    /// Makes it beside the state directory or, if that is missing, where it will be.
    fn new(state_dir: &Path) -> Result<Scratch, Failure> {
        let existing = state_dir.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
        let path = existing.join(format!(".wharf-check-{}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|source| Failure::StateDir { dir: state_dir.into(), existing: existing.into(), source })?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It has nothing of use.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
