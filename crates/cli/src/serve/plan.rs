//! What will be served. `--check` prints a plan, a start and a reload carry it out: all three refuse the same mistakes.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;

use config::{ConfigError, ExportSpec, Loaded, ServerSettings, Source};
use daemon::Options;
use fs_fault::Rules;
use fs_host::{Examined, HostFs};
use server::ExportRules;

use super::backends::BackendOptions;
use super::descriptors::Budget;
use super::privilege::Privilege;
use super::{remote_overlap, start, write_log};
use crate::failure::{ExportError, Failure};

/// The most event loops for each processor, and on any machine.
const LOOPS_PER_PROCESSOR: usize = 16;
const FEW_LOOPS: usize = 64;

/// The descriptors of an event loop, besides a socket for TCP and one for UDP at each address.
const PER_LOOP: u64 = 2;

/// A configuration without a mistake that can be found without serving it.
pub struct Plan {
    /// The settings of the command line and the file.
    pub settings: ServerSettings,
    /// The options of the server.
    pub options: Options,
    /// The exports, and remarks about them.
    pub loaded: Loaded,
    /// All addresses that the server listens on.
    pub addresses: Vec<SocketAddr>,
    /// What was found behind each export.
    pub looks: Vec<Look>,
    /// What a power failure may undo though it was acknowledged.
    pub shortfalls: Vec<String>,
}

/// What is behind an export.
pub enum Look {
    /// A directory of this machine.
    Dir(Examined),
    /// In memory, or at another server, which is not contacted.
    Other,
}

impl Plan {
    /// Checks everything. Does not bind addresses or contact other servers, and creates nothing that stays, so a
    /// server with the same state may be running.
    ///
    /// # Errors
    /// All mistakes, with those that were found before.
    pub fn make(
        settings: ServerSettings,
        (loaded, mistakes): (Loaded, Vec<ConfigError>),
        privilege: &Privilege,
        budget: &Budget,
    ) -> Result<Plan, Failure> {
        let mut failures: Vec<Failure> = mistakes.into_iter().map(Failure::from).collect();
        let mut options = start::options(&settings, privilege)?;
        let addresses = start::addresses(&options)?;
        let descriptors_for = loops_of_descriptors(addresses.len(), budget);
        if settings.loops.unwrap_or(0) == 0 {
            options.loops = options.loops.min(descriptors_for);
        }
        failures.extend(check_loops(&options, descriptors_for));
        failures.extend(check_ports(&options.listen));
        failures.extend(check_state(&options));
        failures.extend(write_log::check(&settings.write_log, options.state_dir.as_deref()));
        let looks = check_exports(&loaded.exports, &addresses, &settings, options.state_dir.as_deref(), &mut failures);
        Failure::if_any(failures)?;
        let mut shortfalls = shortfalls(&looks);
        shortfalls.extend(write_log::shortfalls(&settings.write_log, options.state_dir.as_deref()));
        Ok(Plan { settings, options, loaded, addresses, looks, shortfalls })
    }
}

/// Checks all exports together, and returns what is behind each. Mistakes are added to `failures`.
pub fn check_exports(
    specs: &[ExportSpec],
    addresses: &[SocketAddr],
    settings: &ServerSettings,
    state_dir: Option<&Path>,
    failures: &mut Vec<Failure>,
) -> Vec<Look> {
    failures.extend(config::check_exposure(addresses, specs).err().map(Failure::from));
    let backends = BackendOptions {
        state_dir: state_dir.map(Path::to_owned),
        has_write_log: settings.write_log.path.is_some(),
        ..BackendOptions::default()
    };
    let mut looks = Vec::with_capacity(specs.len());
    for spec in specs {
        let failed = |source| Failure::Export { origin: spec.origin.clone(), source };
        let faults = spec.fault.as_ref().map(|plan| plan.parse::<Rules>()).transpose();
        failures.extend(faults.err().map(|error| failed(ExportError::from(error))));
        failures.extend(write_log::check_outside(&settings.write_log, spec).err().map(failed));
        match look_at(spec, &backends) {
            Ok(look) => looks.push((spec, look)),
            Err(source) => failures.push(failed(source)),
        }
    }
    failures.extend(remote_overlap::failures(specs));
    failures.extend(conflicts(&looks));
    looks.into_iter().map(|(_, look)| look).collect()
}

/// What a power failure may undo of these exports; once of a directory that several exports have.
pub fn shortfalls(looks: &[Look]) -> Vec<String> {
    let of_dir = |look: &Look| if let Look::Dir(found) = look { found.shortfalls.clone() } else { Vec::new() };
    let mut all: Vec<String> = Vec::new();
    for shortfall in looks.iter().flat_map(of_dir) {
        if !all.contains(&shortfall) {
            all.push(shortfall);
        }
    }
    all
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
fn conflicts(looks: &[(&ExportSpec, Look)]) -> Vec<Failure> {
    let claims = looks.iter().filter_map(|(spec, look)| match look {
        Look::Dir(examined) => Some(ExportRules { name: &spec.name, rules: &spec.rules, origin: examined.origin }),
        Look::Other => None,
    });
    ExportRules::conflicts(claims).into_iter().map(|conflict| Failure::Reload(conflict.into())).collect()
}

/// How many event loops have descriptors.
fn loops_of_descriptors(addresses: usize, budget: &Budget) -> usize {
    let per_loop = PER_LOOP + 2 * addresses as u64;
    usize::try_from(budget.for_loops() / per_loop).unwrap_or(usize::MAX).max(1)
}

/// Refuses more event loops than help on this machine, or than have descriptors.
fn check_loops(options: &Options, descriptors_for: usize) -> Option<Failure> {
    let (loops, processors) = (options.loops, thread::available_parallelism().map_or(1, usize::from));
    let most = FEW_LOOPS.max(processors * LOOPS_PER_PROCESSOR);
    if loops > most {
        return Some(Failure::TooManyLoops { loops, most, processors });
    }
    (loops > descriptors_for).then_some(Failure::TooFewDescriptors { loops, most: descriptors_for })
}

/// Refuses an address and port that the server itself would have in use.
fn check_ports(addresses: &[SocketAddr]) -> Option<Failure> {
    let is_one = |a: &SocketAddr, b: &SocketAddr| {
        let is_any = a.ip().is_unspecified() || b.ip().is_unspecified();
        a.port() != 0 && a.port() == b.port() && a.is_ipv4() == b.is_ipv4() && (a == b || is_any)
    };
    let found = addresses.iter().enumerate().find_map(|(index, first)| {
        addresses[..index].iter().find(|second| is_one(first, second)).map(|second| (*second, *first))
    });
    found.map(|(first, second)| Failure::ListenTwice { first, second })
}

/// Checks the state directory.
fn check_state(options: &Options) -> Option<Failure> {
    let dir = options.state_dir.as_deref()?;
    let key = daemon::check_state_dir(dir).map_err(|error| Failure::Start(error.into()));
    key.and_then(|()| require_writable(dir)).err()
}

/// Refuses a directory that is not writable or cannot be created: for root, only a try shows that. An existing one may
/// lack room and still be of use.
fn require_writable(dir: &Path) -> Result<(), Failure> {
    let Some(existing) = dir.ancestors().find(|path| path.exists()) else { return Ok(()) };
    let failed = |source| Failure::StateDir { dir: dir.to_owned(), existing: existing.to_owned(), source };
    let probe = existing.join(format!(".wharf-check-{}", std::process::id()));
    match std::fs::create_dir(&probe) {
        Ok(()) => std::fs::remove_dir(&probe).map_err(failed),
        Err(error) if existing == dir && matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            Ok(())
        }
        Err(error) => Err(failed(error)),
    }
}
