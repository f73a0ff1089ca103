use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use config::{Loaded, ServerSettings, Sources};
use daemon::{Daemon, StateDirError};
use fs_host::{FlushCounters, ReadAheadMode};
use server::Export;
use signal_hook::consts::{SIGHUP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::{Handle, Signals};

use super::backends::{BackendOptions, Backends};
use super::descriptors::Budget;
use super::host_names::HostNames;
use super::log_check;
use super::plan::{self, Plan};
use super::privilege::Privilege;
use super::service_manager::ServiceManager;
use super::write_log::{self, ServedLog};
use super::{Flags, how_to_mount, reply_flags, storage_flags, summary};
use crate::failure::{Failure, explain};

/// The time limit for accepted requests during a shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(30);

/// The maximum number of mount commands that are printed.
const MAX_PRINTED: usize = 32;

/// A running server, and what a reload requires.
pub struct Serving {
    daemon: Arc<Daemon>,
    manager: ServiceManager,
    configuration: Configuration,
    read_ahead: ReadAheadMode,
    flush_counters: Arc<FlushCounters>,
}

/// The exports, and how to reload them.
struct Configuration {
    sources: Sources,
    /// The settings of the command line, which override those of the file.
    flags: ServerSettings,
    /// The settings in force.
    settings: ServerSettings,
    /// Where the server listens.
    addresses: Vec<SocketAddr>,
    state_dir: Option<PathBuf>,
    backends: Backends,
    host_names: HostNames,
}

impl Serving {
    /// Starts to serve what is planned, calls `started`, and then tells users how to mount it.
    ///
    /// # Errors
    /// When any of it cannot be served.
    pub fn start(
        flags: &Flags,
        budget: Budget,
        sources: Sources,
        plan: Plan,
        started: impl FnOnce(),
    ) -> Result<Serving, Failure> {
        if write_log::new_file(&plan.settings.write_log).is_some() {
            // A log takes as long to make as its disk takes to write all of it.
            log_check::check(&plan)?;
        }
        let privilege = Privilege::of_this_process();
        let Plan { settings, mut options, loaded, addresses, shortfalls, .. } = plan;
        shortfalls.iter().for_each(|shortfall| tracing::warn!("{shortfall}"));
        let allowance = budget.apply(&mut options);
        let read_ahead = storage_flags::read_ahead_mode(&settings.storage);
        let flush_counters = Arc::<FlushCounters>::default();
        let backends = Backends::new(BackendOptions {
            read_ahead: read_ahead.clone(),
            group_commit: settings.storage.group_commit.unwrap_or(true),
            metadata_memory: Arc::new(storage_flags::metadata_memory(&settings.storage)),
            flush_counters: Arc::clone(&flush_counters),
            state_dir: options.state_dir.clone(),
            workers: options.workers(),
            owner: privilege.own(),
            files_at_hand: Some(budget.files_at_hand(loaded.exports.len())),
            has_write_log: settings.write_log.path.is_some(),
        });
        if let Some(flaw) = options.state_dir.as_deref().map(stable::missing_state).transpose()?.flatten() {
            tracing::warn!("{flaw}");
        }
        let log = ServedLog::open(&settings.write_log, options.state_dir.as_deref())?;
        // A start that is refused because of another server must not replay anything before.
        if let Some(dir) = options.state_dir.as_deref().filter(|dir| daemon::is_state_dir_in_use(dir)) {
            return Err(Failure::Start(StateDirError::InUse(dir.to_owned()).into()));
        }
        let backends = backends.with_log(log);
        let host_names = HostNames::start()?;
        let flags = flags.settings();
        let state_dir = options.state_dir.clone();
        let mut configuration = Configuration { sources, flags, settings, addresses, state_dir, backends, host_names };
        let exports = configuration.exports(loaded)?;
        options.made_before = configuration.backends.take_made_changes();
        options.before_requests = configuration.backends.log_starter();
        let names: Vec<String> = exports.iter().map(|export| export.name.clone()).collect();
        let state_dir = options.state_dir.as_ref().map(|dir| tracing::field::display(dir.display().to_string()));
        reply_flags::log(&options);
        let daemon = Arc::new(Daemon::start(options, exports)?);
        started();
        let manager = ServiceManager::from_environment();
        tracing::info!(addresses = %listed(daemon.addresses()), exports = names.len(), state_dir, "serving");
        allowance.log();
        print_ways(&names, daemon.addresses())?;
        manager.ready();
        Ok(Serving { daemon, manager, configuration, read_ahead, flush_counters })
    }

    /// Serves until a signal ends the server and accepted requests are complete.
    ///
    /// # Errors
    /// When acknowledged changes are in the write log alone.
    pub fn until_told(mut self, mut signals: Signals) -> Result<(), Failure> {
        let handle = signals.handle();
        let mut is_ending = false;
        for signal in &mut signals {
            match signal {
                SIGHUP if is_ending => {}
                SIGHUP => self.reload(),
                SIGUSR1 => self.log_counters("counters so far"),
                SIGUSR2 => self.end_grace(),
                _ if is_ending => {
                    tracing::warn!("second signal: stopping at once, unfinished requests are dropped");
                    self.daemon.shutdown(Duration::ZERO);
                }
                _ => {
                    is_ending = true;
                    self.end(handle.clone());
                }
            }
        }
        let drained = self.configuration.backends.drain_log();
        self.log_counters("ended");
        self.configuration.backends.close_log();
        drained
    }

    fn log_counters(&self, event: &str) {
        summary::log(&self.daemon, &self.read_ahead, event);
        summary::log_flushes(self.flush_counters.counts());
        if let Some(status) = self.configuration.backends.log_status() {
            summary::log_write_log(&status);
        }
    }

    /// Shuts the server down; `signals` are closed afterwards.
    fn end(&self, signals: Handle) {
        tracing::info!(grace = ?SHUTDOWN_GRACE, "stopping: completing accepted requests");
        self.manager.stopping();
        self.daemon.shutdown(SHUTDOWN_GRACE);
        let (daemon, ended) = (Arc::clone(&self.daemon), signals.clone());
        let wait = move || {
            daemon.wait();
            ended.close();
        };
        if let Err(error) = thread::Builder::new().name("end".to_owned()).spawn(wait) {
            tracing::error!(%error, "cannot start a thread that waits for accepted requests: they are dropped");
            self.daemon.shutdown(Duration::ZERO);
            self.daemon.wait();
            signals.close();
        }
    }

    fn end_grace(&self) {
        match self.daemon.end_grace() {
            Ok(true) => {
                tracing::warn!("the grace period was ended: clients that have not reclaimed lose their opens and locks")
            }
            Ok(false) => tracing::info!("there is no grace period to end"),
            Err(error) => tracing::error!(%error, "cannot end the grace period: the state directory cannot be written"),
        }
    }

    fn reload(&mut self) {
        self.manager.reloading();
        match self.try_reload() {
            Ok(count) => tracing::info!(exports = count, "reloaded"),
            Err(failure) => {
                tracing::error!("the reload failed, and the old exports stay in force: {}", explain(&failure));
            }
        }
        self.manager.ready();
    }

    fn try_reload(&mut self) -> Result<usize, Failure> {
        let exports = self.configuration.read_again()?;
        let count = exports.len();
        self.daemon.reload(exports)?;
        Ok(count)
    }
}

impl Configuration {
    /// Makes exports from a configuration without mistakes.
    fn exports(&mut self, mut loaded: Loaded) -> Result<Vec<Export>, Failure> {
        for remark in &loaded.remarks {
            tracing::warn!("{remark}");
        }
        self.host_names.adopt(&mut loaded.exports);
        let exports = self.backends.exports(&loaded.exports)?;
        for remark in write_log::left_behind(&self.settings.write_log, &loaded.exports, self.state_dir.as_deref())? {
            tracing::warn!("{remark}");
        }
        Ok(exports)
    }

    fn read_again(&mut self) -> Result<Vec<Export>, Failure> {
        let (loaded, mistakes) = config::load_what_can_be(&self.sources);
        let mut failures: Vec<Failure> = mistakes.into_iter().map(Failure::from).collect();
        let state_dir = self.state_dir.as_deref();
        let looks = plan::check_exports(&loaded.exports, &self.addresses, &self.settings, state_dir, &mut failures);
        Failure::if_any(failures)?;
        plan::shortfalls(&looks).iter().for_each(|shortfall| tracing::warn!("{shortfall}"));
        if self.flags.clone().or(loaded.settings.clone()) != self.settings {
            tracing::warn!("settings other than exports have changed: they take effect when the server is restarted");
        }
        self.exports(loaded)
    }
}

/// Lists addresses in the user's notation.
fn listed(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",")
}

/// Prints how to mount each export at each address.
fn print_ways(names: &[String], addresses: &[SocketAddr]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let ways = names.iter().flat_map(|name| addresses.iter().map(move |address| (name, *address)));
    for (name, address) in ways.take(MAX_PRINTED) {
        writeln!(stdout, "{}", how_to_mount::describe(name, address))?;
    }
    let left = (names.len() * addresses.len()).saturating_sub(MAX_PRINTED);
    if left > 0 {
        writeln!(stdout, "and {left} more; wharf showmount -e tells all exports")?;
    }
    stdout.flush()
}
