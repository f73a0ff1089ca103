use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock, RwLock};

use client_calls::Transport;
use client_calls::now;
use client_calls::v4::Wire;
use proto::nfs4::MinorVersion;
use tokio::sync::Mutex;

use super::callback_listener::CallbackListener;
use super::client::{Client, Inner};
use super::delegations::Delegations;
use super::departure;
use super::handled_flags::Watch;
use super::identity::Identity;
use super::offloads::Offloads;
use super::opens::Opens;
use super::registration::Recovery;
use super::unused::Unused;
use crate::{Connection, Error, Options, Reason, Result, Version};

impl Client {
    /// Connects to `address`, makes the client known and creates a session. Errors name the server `server`. The tasks
    /// that renew the lease and answer callbacks run on the current runtime.
    ///
    /// # Errors
    /// [`Reason::Connect`]; [`Reason::NeedsStream`] for another transport; the server's status, such as
    /// MINOR_VERS_MISMATCH when it does not support `minor`.
    pub async fn connect(address: SocketAddr, server: &str, minor: MinorVersion, options: &Options) -> Result<Client> {
        let server: Arc<str> = server.into();
        if options.transport != Transport::Tcp {
            return Err(Error::new(&server, "connect", Reason::NeedsStream(Version::V4(minor))));
        }
        let count = options.connections.clamp(1, Options::MAX_CONNECTIONS);
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::connect(address, &server, options).await?);
        }
        let slots = u32::try_from(options.max_pending.saturating_mul(count)).unwrap_or(u32::MAX);
        let listener = listen(address, &server, minor, options).await?;
        let identity = Identity::new(listener.as_ref().map(CallbackListener::called_at));
        let wire = Wire { connection: &connections[0], minor };
        let (session, recovery) = Recovery::start(&wire, &identity, slots).await?;
        let inner = Inner {
            server,
            minor,
            connections: connections.into(),
            turn: AtomicUsize::new(0),
            identity,
            session: RwLock::new(Arc::new(session)),
            recovery: Mutex::new(recovery),
            opens: Opens::default(),
            watch: Watch::default(),
            delegations: Delegations::new(now),
            uses_delegations: options.uses_delegations,
            uses_write_delegations: options.uses_write_delegations,
            callbacks: Arc::default(),
            listening: OnceLock::new(),
            offloads: Offloads::default(),
            hurries: Arc::default(),
            is_leaving: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            slots,
            lease: OnceLock::new(),
            mounted: OnceLock::new(),
        };
        let client = Client::of(Arc::new(inner));
        departure::enter(Arc::downgrade(&client.0));
        if let Some(listener) = listener {
            // Nobody else sets it.
            let _ = client.0.listening.set(listener.serve(Arc::downgrade(&client.0)));
        }
        let unused = Unused::new(client);
        match unused.client().begin().await {
            Ok(()) => Ok(unused.keep()),
            Err(error) => Err(unused.leave_after(error).await),
        }
    }
}

/// Opens the callback port for a 4.0 server, if the options set one and delegations are used.
async fn listen(
    server: SocketAddr,
    name: &Arc<str>,
    minor: MinorVersion,
    options: &Options,
) -> Result<Option<CallbackListener>> {
    let is_of_use = !minor.has_sessions() && options.uses_delegations;
    let Some(address) = options.callback_address.filter(|_| is_of_use) else { return Ok(None) };
    let listener = CallbackListener::bind(address, server).await;
    listener.map(Some).map_err(|source| Error::new(name, "SETCLIENTID", Reason::Callbacks { address, source }))
}
