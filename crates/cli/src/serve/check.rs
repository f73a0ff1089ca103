//! `wharf serve --check`: checks a configuration without serving it.

use std::io::Write;
use std::path::Path;

use config::{ExportSpec, Loaded, Source, Sources};
use daemon::Options;
use fs_fault::Rules;
use fs_host::{Examined, HostFs};
use rustix::fs::{Access, access};
use server::ExportRules;

use super::backends::BackendOptions;
use super::offer::{Offer, Offers};
use super::privilege::Privilege;
use super::{Flags, remote_overlap, start};
use crate::failure::{ExportError, Failure};
use crate::output::Output;

/// The result of checking an export's file system.
enum Look {
    Dir(Examined),
    /// In memory, or at another server, which is not contacted.
    Other,
}

/// Checks everything, and prints what would be served. Does not bind addresses, contact other servers or create files,
/// so a server with the same state may be running.
///
/// # Errors
/// All mistakes.
pub fn run(flags: &Flags, sources: &Sources) -> Result<(), Failure> {
    let (loaded, mistakes) = config::load_what_can_be(sources);
    let mut failures: Vec<Failure> = mistakes.into_iter().map(Failure::from).collect();
    let privilege = Privilege::of_this_process();
    let settings = flags.settings().or(loaded.settings.clone());
    let options = start::options(&settings, &privilege)?;
    let addresses = start::addresses(&options)?;
    failures.extend(config::check_exposure(&addresses, &loaded.exports).err().map(Failure::from));
    failures.extend(check_state(&options));
    let backends = BackendOptions { state_dir: options.state_dir.clone(), ..BackendOptions::default() };
    let looks = look_at_all(&loaded.exports, &backends, &mut failures);
    failures.extend(remote_overlap::failures(&loaded.exports));
    failures.extend(conflicts(&loaded.exports, &looks));
    Failure::if_any(failures)?;
    let state_dir = options.state_dir.as_deref();
    let exports = loaded.exports.iter().zip(&looks).map(|(spec, look)| Offer::of(spec, handles(look))).collect();
    print(&Offers::new(exports, &addresses, state_dir, remarks(&loaded)), flags.is_json())
}

fn print(offers: &Offers, is_json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    if is_json {
        output.json(offers)?;
    } else {
        write!(output, "{offers}")?;
    }
    Ok(output.finish()?)
}

/// Checks each export. One that cannot be served adds a failure and has no result.
fn look_at_all(specs: &[ExportSpec], backends: &BackendOptions, failures: &mut Vec<Failure>) -> Vec<Option<Look>> {
    let mut looks = Vec::with_capacity(specs.len());
    for spec in specs {
        let look = look_at(spec, backends);
        let faults = spec.fault.as_ref().map(|plan| plan.parse::<Rules>()).transpose();
        let failed = |source| Failure::Export { origin: spec.origin.clone(), source };
        failures.extend(faults.err().map(|error| failed(ExportError::from(error))));
        looks.push(look.map_err(|source| failures.push(failed(source))).ok());
    }
    looks
}

fn look_at(spec: &ExportSpec, backends: &BackendOptions) -> Result<Look, ExportError> {
    match &spec.source {
        Source::Dir(dir) => Ok(Look::Dir(HostFs::examine(dir, &backends.host_options(spec.sync_metadata))?)),
        Source::Memory { .. } => Ok(Look::Other),
        Source::Remote { url } => {
            url.parse::<client::Url>()?;
            Ok(Look::Other)
        }
    }
}

/// Exports of one directory that contradict each other.
fn conflicts(specs: &[ExportSpec], looks: &[Option<Look>]) -> Vec<Failure> {
    let claims = specs.iter().zip(looks).filter_map(|(spec, look)| match look {
        Some(Look::Dir(examined)) => {
            Some(ExportRules { name: &spec.name, rules: &spec.rules, origin: examined.origin })
        }
        _ => None,
    });
    ExportRules::conflicts(claims).into_iter().map(|conflict| Failure::Reload(conflict.into())).collect()
}

/// How handles identify files.
fn handles(look: &Option<Look>) -> Option<&'static str> {
    match look {
        Some(Look::Dir(Examined { has_kernel_handles: true, .. })) => Some("kernel"),
        Some(Look::Dir(_)) => Some("store"),
        Some(Look::Other) | None => None,
    }
}

/// Checks the state directory.
fn check_state(options: &Options) -> Option<Failure> {
    let dir = options.state_dir.as_deref()?;
    let key = daemon::check_state_dir(dir).map_err(|error| Failure::Start(error.into()));
    key.and_then(|()| require_writable(dir)).err()
}

/// Refuses a directory that is not writable or cannot be created.
fn require_writable(dir: &Path) -> Result<(), Failure> {
    let Some(existing) = dir.ancestors().find(|path| path.exists()) else { return Ok(()) };
    let failed = |errno: rustix::io::Errno| Failure::Local { path: existing.to_path_buf(), source: errno.into() };
    if existing.is_dir() {
        access(existing, Access::WRITE_OK | Access::EXEC_OK).map_err(failed)
    } else {
        Err(failed(rustix::io::Errno::NOTDIR))
    }
}

fn remarks(loaded: &Loaded) -> Vec<String> {
    loaded.remarks.iter().map(ToString::to_string).collect()
}
