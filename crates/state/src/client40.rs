//! SETCLIENTID, SETCLIENTID_CONFIRM and RENEW (RFC 7530 §16.33, §16.34, §16.27).

use std::sync::Arc;
use std::time::Duration;

use crate::client::{Callback40, Client, Protocol, Revoked, UnconfirmedCallback, V40};
use crate::core::Core;
use crate::lease::Lease;
use crate::limits::NAME_MAX_BYTES;
use crate::records::Recording;
use crate::{ClientId, Origin, Principal, State, StateError};

/// The arguments of SETCLIENTID.
#[derive(Debug, Clone)]
pub struct SetClientIdArgs<'a> {
    /// The client's string, `nfs_client_id4.id`.
    pub name: &'a [u8],
    /// The verifier, which changes when the client restarts.
    pub verifier: [u8; 8],
    /// The callback path that the client requests, if any.
    pub callback: Option<Callback40>,
    /// The principal of the request.
    pub principal: Principal,
    /// The origin of the request.
    pub origin: Origin,
}

impl State {
    /// SETCLIENTID with the cases of RFC 7530 §16.33.5; returns the client ID and its confirmation verifier.
    ///
    /// # Errors
    /// [`StateError::ClidInUse`] when another principal's client has state, `Inval` for a name that is too long,
    /// `Delay` when there are too many clients.
    pub fn setclientid(&self, now: Duration, args: &SetClientIdArgs<'_>) -> Result<(ClientId, [u8; 8]), StateError> {
        if args.name.len() > NAME_MAX_BYTES {
            return Err(StateError::Inval);
        }
        self.core().setclientid(now, args)
    }

    /// SETCLIENTID_CONFIRM with the cases of RFC 7530 §16.34.5. Returns true if the callback path is new: the server
    /// then tests it, and reports the result by [`State::callback_path_40`].
    ///
    /// # Errors
    /// [`StateError::StaleClientid`], or `ClidInUse` for another principal.
    pub fn setclientid_confirm(
        &self,
        now: Duration,
        client: ClientId,
        confirm: [u8; 8],
        principal: &Principal,
    ) -> Result<bool, StateError> {
        self.core().setclientid_confirm(now, client, confirm, principal)
    }

    /// RENEW.
    ///
    /// # Errors
    /// [`StateError::StaleClientid`], `Expired`, and `CbPathDown` when the client holds delegations and cannot be
    /// called back; its lease is renewed even then (RFC 7530 §16.27.4).
    pub fn renew(&self, now: Duration, client: ClientId) -> Result<(), StateError> {
        let mut core = self.core();
        let path_up = match &core.live_client(now, client)?.protocol {
            Protocol::V40(v40) => v40.callback_up,
            Protocol::V41(_) => return Err(StateError::StaleClientid),
        };
        if !path_up && core.has_delegation(client.number()) {
            return Err(StateError::CbPathDown);
        }
        core.goes_on(now, client.number());
        Ok(())
    }
}

impl Core {
    fn setclientid(&mut self, now: Duration, args: &SetClientIdArgs<'_>) -> Result<(ClientId, [u8; 8]), StateError> {
        let names = self.names40.get(args.name).copied().unwrap_or_default();
        if let Some(confirmed) = names.confirmed.and_then(|id| self.client(id).ok()) {
            let id = confirmed.id;
            if confirmed.principal != args.principal {
                self.yield_to_other_principal(now, id)?;
            } else if confirmed.verifier == args.verifier {
                // The same client, perhaps with a new callback path: it keeps its ID and its state.
                let confirm = self.new_confirm();
                if let Protocol::V40(v40) = &mut self.client_mut(id)?.protocol {
                    v40.pending = Some(UnconfirmedCallback { confirm, callback: args.callback.clone() });
                }
                self.drop_unconfirmed40(names.unconfirmed);
                return Ok((id, confirm));
            }
            // Otherwise the client restarted; its old state is removed when the new ID is confirmed.
        }
        self.drop_unconfirmed40(names.unconfirmed);
        self.make_room_for_client(now, args.origin)?;
        self.new_client40(now, args)
    }

    fn drop_unconfirmed40(&mut self, unconfirmed: Option<ClientId>) {
        if let Some(id) = unconfirmed {
            self.drop_client(id);
        }
    }

    fn new_client40(&mut self, now: Duration, args: &SetClientIdArgs<'_>) -> Result<(ClientId, [u8; 8]), StateError> {
        let id = self.new_client_id()?;
        let confirm = self.new_confirm();
        let name: Arc<[u8]> = args.name.into();
        let v40 = V40 { confirm, callback: args.callback.clone(), callback_up: false, pending: None };
        let client = Client {
            id,
            name: Arc::clone(&name),
            verifier: args.verifier,
            principal: args.principal.clone(),
            account: self.shared.pool.account(args.origin),
            lease: Arc::new(Lease::new(now)),
            confirmed: false,
            reclaim_complete: false,
            record: Recording::default(),
            last_state: 0,
            revoked: Revoked::default(),
            revoked_at: Duration::ZERO,
            tested: Default::default(),
            protocol: Protocol::V40(Box::new(v40)),
        };
        self.clients.insert(id.number(), client);
        self.origins.enter(args.origin, id.number());
        self.names40.entry(name).or_default().unconfirmed = Some(id);
        Ok((id, confirm))
    }

    /// A confirmation verifier that this boot has not used.
    fn new_confirm(&mut self) -> [u8; 8] {
        self.last_confirm += 1;
        (u64::from(self.shared.boot) << 32 | u64::from(self.last_confirm)).to_be_bytes()
    }

    fn setclientid_confirm(
        &mut self,
        now: Duration,
        id: ClientId,
        confirm: [u8; 8],
        principal: &Principal,
    ) -> Result<bool, StateError> {
        let client = self.client_mut(id)?;
        let confirmed = client.confirmed;
        let same_principal = client.principal == *principal;
        let Protocol::V40(v40) = &mut client.protocol else { return Err(StateError::StaleClientid) };
        let known = v40.confirm == confirm || v40.pending.as_ref().is_some_and(|pending| pending.confirm == confirm);
        if !known {
            return Err(StateError::StaleClientid);
        }
        if !same_principal {
            return Err(StateError::ClidInUse);
        }
        if !confirmed {
            return self.confirm(now, id).map(|()| true);
        }
        // A repeated confirmation changes nothing; that of a pending callback activates it.
        let Some(pending) = v40.pending.take_if(|pending| pending.confirm == confirm) else { return Ok(false) };
        v40.confirm = pending.confirm;
        v40.callback_up &= v40.callback == pending.callback;
        v40.callback = pending.callback;
        client.lease.renew(now);
        self.recall_again(id.number());
        Ok(true)
    }
}
