//! EXCHANGE_ID and DESTROY_CLIENTID (RFC 8881 §18.35, §18.50).

use std::sync::Arc;
use std::time::Duration;

use crate::client::{Client, OwnerNames, Protocol, Revoked, V41};
use crate::core::Core;
use crate::lease::Lease;
use crate::limits::NAME_MAX_BYTES;
use crate::records::Recording;
use crate::{ClientId, Origin, Principal, State, StateError, StatusFlags};

/// The arguments of EXCHANGE_ID.
#[derive(Debug, Clone)]
pub struct ExchangeIdArgs<'a> {
    /// The client owner, `co_ownerid`.
    pub owner: &'a [u8],
    /// The verifier, which changes when the client restarts.
    pub verifier: [u8; 8],
    /// Whether EXCHGID4_FLAG_UPD_CONFIRMED_REC_A is set.
    pub update: bool,
    /// The principal of the request.
    pub principal: Principal,
    /// The origin of the request.
    pub origin: Origin,
}

/// The result of EXCHANGE_ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangedId {
    /// The client ID.
    pub client: ClientId,
    /// The sequence number of the next CREATE_SESSION.
    pub sequence: u32,
    /// Whether the client ID was already confirmed.
    pub confirmed: bool,
}

impl State {
    /// EXCHANGE_ID with the cases of RFC 8881 §18.35.4.
    ///
    /// # Errors
    /// [`StateError::NoEnt`], `NotSame` and `Perm` for updates, `ClidInUse` when another principal's client has state,
    /// `Inval` for an owner that is too long, `Delay` when there are too many clients.
    pub fn exchange_id(&self, now: Duration, args: &ExchangeIdArgs<'_>) -> Result<ExchangedId, StateError> {
        if args.owner.len() > NAME_MAX_BYTES {
            return Err(StateError::Inval);
        }
        let mut core = self.core();
        match args.update {
            true => core.update_client(now, args),
            false => core.exchange_id(now, args),
        }
    }

    /// DESTROY_CLIENTID (RFC 8881 §18.50).
    ///
    /// # Errors
    /// [`StateError::StaleClientid`], or `ClientidBusy` while the client has sessions or state.
    pub fn destroy_clientid(&self, client: ClientId) -> Result<(), StateError> {
        let mut core = self.core();
        let found = core.client(client)?;
        let v41 = found.v41().ok_or(StateError::StaleClientid)?;
        if !v41.sessions.is_empty() || core.has_state(client.number()) {
            return Err(StateError::ClientidBusy);
        }
        core.release_record(client);
        core.drop_client(client);
        Ok(())
    }
}

impl Core {
    /// The cases of an update: 6 to 9 of RFC 8881 §18.35.4.
    fn update_client(&mut self, now: Duration, args: &ExchangeIdArgs<'_>) -> Result<ExchangedId, StateError> {
        let names = self.names41.get(args.owner).copied().unwrap_or_default();
        let id = names.confirmed.ok_or(StateError::NoEnt)?;
        let client = self.client_mut(id)?;
        if client.verifier != args.verifier {
            return Err(StateError::NotSame);
        }
        if client.principal != args.principal {
            return Err(StateError::Perm);
        }
        client.lease.renew(now);
        Ok(exchanged(client))
    }

    /// The other cases: 1 to 5.
    fn exchange_id(&mut self, now: Duration, args: &ExchangeIdArgs<'_>) -> Result<ExchangedId, StateError> {
        let names = self.names41.get(args.owner).copied().unwrap_or_default();
        if let Some(confirmed) = names.confirmed.and_then(|id| self.client(id).ok()) {
            let same_principal = confirmed.principal == args.principal;
            if same_principal && confirmed.verifier == args.verifier && !confirmed.lease.has_ended() {
                // Case 2: the client repeats its request.
                confirmed.lease.renew(now);
                let answer = exchanged(confirmed);
                self.drop_unconfirmed(names);
                return Ok(answer);
            }
            if !same_principal {
                // Case 3: another principal uses the same owner string.
                self.yield_to_other_principal(now, confirmed.id)?;
            }
            // Case 5: the client restarted. Its old state is removed when the new client ID is confirmed.
        }
        self.drop_unconfirmed(names);
        self.make_room_for_client(now, args.origin)?;
        self.new_client41(now, args)
    }

    /// Removes a client without state, or whose lease has expired, so that another principal can take its name.
    pub(crate) fn yield_to_other_principal(&mut self, now: Duration, id: ClientId) -> Result<(), StateError> {
        let lease = self.limits().lease;
        let client = self.client(id)?;
        let has_sessions = client.v41().is_some_and(|v41| !v41.sessions.is_empty());
        if (has_sessions || self.has_state(id.number())) && !client.is_overdue(now, lease) {
            return Err(StateError::ClidInUse);
        }
        self.forget_record(id)?;
        self.drop_client(id);
        Ok(())
    }

    fn drop_unconfirmed(&mut self, names: OwnerNames) {
        if let Some(unconfirmed) = names.unconfirmed {
            self.drop_client(unconfirmed);
        }
    }

    fn new_client41(&mut self, now: Duration, args: &ExchangeIdArgs<'_>) -> Result<ExchangedId, StateError> {
        let id = self.new_client_id()?;
        let name: Arc<[u8]> = args.owner.into();
        let lease = Arc::new(Lease::new(now));
        lease.set_flag(StatusFlags::CB_PATH_DOWN, true);
        let client = Client {
            id,
            name: Arc::clone(&name),
            verifier: args.verifier,
            principal: args.principal.clone(),
            account: self.shared.pool.account(args.origin),
            lease,
            confirmed: false,
            reclaim_complete: false,
            record: Recording::default(),
            last_state: 0,
            revoked: Revoked::default(),
            revoked_at: Duration::ZERO,
            tested: Default::default(),
            protocol: Protocol::V41(Box::new(V41 { next_create: 1, last_created: None, sessions: Vec::new() })),
        };
        let answer = exchanged(&client);
        self.clients.insert(id.number(), client);
        self.origins.enter(args.origin, id.number());
        self.names41.entry(name).or_default().unconfirmed = Some(id);
        Ok(answer)
    }
}

fn exchanged(client: &Client) -> ExchangedId {
    let sequence = client.v41().map_or(1, |v41| v41.next_create);
    ExchangedId { client: client.id, sequence, confirmed: client.confirmed }
}
