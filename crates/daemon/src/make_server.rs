//! Creates the protocol programs from the options and the state directory.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use names::MachineNames;
use server::{Export, MadeBefore, Server, Settings};

use crate::error::StartError;
use crate::options::Options;
use crate::place;
use crate::records::{StoredRecords, is_full};
use crate::reply_log::{self, FileReplyLog};
use crate::state_dir::{self, StateDir, StateDirError};

/// The smallest transfer size, in bytes: that of NFSv2.
const MIN_TRANSFER_BYTES: u32 = 8192;

/// Creates a server for this many calling threads.
pub(crate) fn make_server(options: &Options, workers: usize, exports: Vec<Export>) -> Result<Server, StartError> {
    let dir = options.state_dir.as_deref().map(state_dir::open_dir).transpose()?.flatten();
    for flaw in dir.as_ref().map_or_else(|| Ok(Vec::new()), |dir| state_dir::missing_files(dir))? {
        tracing::warn!("{flaw}");
    }
    let key = state_dir::handle_key(dir.as_ref().map(|dir| &***dir))?;
    let records = client_records(dir.clone(), options.lease)?;
    let mut settings = with_options(Settings::new(workers, instance(records.as_ref()), key), options, records.as_ref());
    let place = dir.as_ref().map(|dir| place::of(dir.path()).unwrap_or_default()).unwrap_or_default();
    settings.place = place.as_bytes().into();
    let replay_age = settings.replay_age;
    let mut server = Server::new(settings, exports)?;
    if let Some(domain) = &options.domain {
        server.name_owners(domain.clone(), Box::new(MachineNames));
    }
    if let Some(records) = records {
        server.keep_clients(Box::new(records))?;
    }
    if let Some(dir) = dir {
        keep_replies(&mut server, Arc::clone(&dir), replay_age, &options.made_before)?;
        place::record(&dir, &place);
    }
    Ok(server)
}

/// Keeps replies in the state directory, so that they survive a restart, if there is space.
fn keep_replies(
    server: &mut Server,
    dir: StateDir,
    max_age: Duration,
    made_before: &[MadeBefore],
) -> Result<(), StateDirError> {
    let path = dir.path().to_owned();
    match FileReplyLog::open(dir, max_age) {
        Ok((log, records)) => {
            server.keep_replies(Arc::new(log), &records, made_before);
            // The write log drops these changes as soon as the replies are in storage.
            if !made_before.is_empty() {
                reply_log::sync(&path);
            }
        }
        Err(StateDirError::File { source, .. }) if is_full(&source) => tracing::error!(
            "cannot write the reply log in {}: {source}; after a restart, retransmitted requests may be executed twice",
            path.display()
        ),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn with_options(mut settings: Settings, options: &Options, records: Option<&StoredRecords>) -> Settings {
    settings.lease = options.lease;
    settings.state_bytes = options.state_bytes;
    // Clients count on the lease time that they were given before (RFC 8881 §8.4.2.1).
    settings.grace = options.grace.max(records.map_or(Duration::ZERO, |records| records.start().earlier_lease));
    settings.max_transfer_bytes = options.max_transfer_bytes.clamp(MIN_TRANSFER_BYTES, 1 << 20);
    settings.read_plus = options.read_plus;
    settings.sendfile_bytes = options.sendfile_bytes;
    settings.gather_writes = options.gather_writes;
    settings.open_files_per_worker = options.open_files_per_worker;
    settings.max_open_files = options.max_open_files;
    settings.open_files_beside_connections = options.open_files_beside_connections;
    settings.max_unlocked_files = options.max_unlocked_files;
    settings.max_locked_files = options.max_locked_files;
    settings.max_leases = options.max_leases;
    settings.max_held_files = options.max_held_files;
    settings.open_file_idle = options.open_file_idle;
    settings.replay_entries = options.replay_entries;
    settings
}

/// A number that differs for each start of the server: the number of the start, or without records the time.
fn instance(records: Option<&StoredRecords>) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let boot = records.map_or(since.as_secs() as u32, |records| records.start().boot);
    u64::from(boot) << 32 | u64::from(since.subsec_nanos())
}

fn client_records(dir: Option<StateDir>, lease: Duration) -> Result<Option<StoredRecords>, StateDirError> {
    let Some(dir) = dir else { return Ok(None) };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Some(StoredRecords::open(dir, since.as_secs() as u32, lease)?))
}
