//! The process that serves a mount.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use client::{CallerRuntime, RemoteFs};
use mount::{Mounted, UnmountError};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::connect::Target;
use super::log::Log;
use super::options::Settings;
use super::{Flags, connect, daemon, log};
use crate::ending::end_by;
use crate::failure::{Failure, MountFailure, explain};
use crate::{nfsstat, remote};

/// What says which processes the kernel ends first when memory runs out, from -1000 to 1000 (proc(5)).
const OOM_SCORE: &str = "/proc/self/oom_score_adj";
const NEVER: &str = "-1000";
/// How long a background mount tries to reach its server without `retry`: a week, as in nfs(5).
const BACKGROUND_RETRY: Duration = Duration::from_secs(7 * 24 * 3600);

/// Mounts, and returns when it is unmounted.
pub fn run(flags: &Flags, settings: &Settings) -> Result<(), Failure> {
    let log = log::start();
    ask_to_be_spared();
    let served = serve(flags, settings, &log);
    if let Err(failure) = &served
        && log.has_left_terminal()
    {
        tracing::error!("{}", explain(failure));
    }
    served
}

/// Asks the kernel to end other processes first when memory runs out, since this one has others' unsent data. Only the
/// superuser may.
fn ask_to_be_spared() {
    if let Err(error) = fs::write(OOM_SCORE, NEVER) {
        tracing::debug!("{OOM_SCORE}: {error}");
    }
}

fn serve(flags: &Flags, settings: &Settings, log: &Log) -> Result<(), Failure> {
    let runtime = connect::start_runtime()?;
    let served = serve_with(flags, settings, &runtime, log);
    // Destroys sessions and client IDs at the server, also of a failed mount.
    runtime.block_on(client::leave_servers(remote::FAREWELL));
    served
}

fn serve_with(flags: &Flags, settings: &Settings, runtime: &Arc<CallerRuntime>, log: &Log) -> Result<(), Failure> {
    // The working directory may be below the mount, or be removed.
    let dir = std::path::absolute(&flags.dir).map_err(|source| Failure::Local { path: flags.dir.clone(), source })?;
    let target = Target { source: &flags.source, dir: &dir };
    let files = if flags.as_daemon && settings.is_background {
        connect_behind(target, settings, runtime, log)?
    } else {
        connect::connect(target, settings, runtime)?
    };
    let version = files.mount().version();
    let published = nfsstat::publish(files.mount(), &dir.to_string_lossy());
    if let Err(error) = &published {
        tracing::warn!("wharf nfsstat will not show this mount: {error}");
    }
    let options = settings.mount_in(version);
    if options != settings.mount {
        tracing::warn!("nolock and local_lock are ignored: in NFSv{version} all locks are the server's");
    }
    let mounted = mount::mount(files, &dir, options).map_err(MountFailure::from)?;
    let mounted = Arc::new(mounted);
    end_when_told(&mounted)?;
    if flags.as_daemon {
        daemon::let_go(log)?;
    }
    tracing::info!("mounted {} on {} with NFSv{version}", flags.source, mounted.dir().display());
    mounted.wait();
    Ok(())
}

/// Connects; after a first failure, continues in the background.
fn connect_behind(
    target: Target<'_>,
    settings: &Settings,
    runtime: &Arc<CallerRuntime>,
    log: &Log,
) -> Result<Arc<RemoteFs>, Failure> {
    let mut patient = settings.clone();
    patient.retry = None;
    match connect::connect(target, &patient, runtime) {
        Err(failure) if connect::may_pass(&failure, settings) => {
            tracing::warn!("{failure}; trying again in the background");
            daemon::let_go(log)?;
            patient.retry = Some(settings.retry.unwrap_or(BACKGROUND_RETRY));
            connect::connect(target, &patient, runtime)
        }
        other => other,
    }
}

/// Unmounts on Ctrl-C and SIGTERM.
fn end_when_told(mounted: &Arc<Mounted>) -> Result<(), Failure> {
    let failed = |source| Failure::System { action: "receive signals", source };
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(failed)?;
    let mounted = Arc::clone(mounted);
    let wait = move || {
        let mut ends = signals.forever().filter(|signal| *signal != SIGHUP);
        if let Some(signal) = ends.next() {
            unmount(&mounted, signal);
        }
        if let Some(signal) = ends.next() {
            tracing::warn!("second signal: the mount is detached, and open files stay usable until they are closed");
            if mounted.detach().is_err() {
                end_by(signal);
            }
        }
        // A third signal ends the process.
        ends.next().map(end_by)
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(())
}

fn unmount(mounted: &Mounted, signal: i32) {
    match mounted.unmount() {
        Ok(()) => {}
        Err(error @ UnmountError::Busy(_)) => {
            tracing::error!("still mounted: {error}; a second signal detaches it anyway");
        }
        Err(error) => {
            tracing::error!("{error}");
            end_by(signal);
        }
    }
}
