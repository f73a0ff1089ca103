//! The callback path of a client of NFSv4.0 (RFC 7530 §16.33): where it leads, and whether somebody is there.

use std::net::IpAddr;
use std::time::Duration;

use proto::nfs4::{NetAddr, SetclientidArgs};
use state::{Callback40, CallbackRoute, ClientId};

use super::{CB_NULL, Route, address};
use crate::callout::CalloutResult;
use crate::server::Server;

/// How the client wants to be called back.
///
/// It is called at the address that it calls from and nowhere else: else a client could have the server connect to others.
pub(crate) fn callback40(args: &SetclientidArgs<'_>, client: IpAddr) -> Option<Callback40> {
    let NetAddr { netid, address: text } = args.callback.location;
    let callback = Callback40 {
        program: args.callback.program,
        ident: args.callback_ident,
        netid: std::str::from_utf8(netid).ok()?.into(),
        address: std::str::from_utf8(text).ok()?.into(),
    };
    let leads_to = address(&callback)?.ip();
    (leads_to.to_canonical() == client.to_canonical()).then_some(callback)
}

impl Server {
    /// Tries the callback path of a client: without one that works it gets no delegations.
    pub(crate) fn try_callback_path(&self, client: ClientId, now: Duration) {
        let Ok(CallbackRoute::V40(callback)) = self.state.callback_route(client) else { return };
        let Some(origin) = self.state.origin(client) else { return };
        let Some(route) = Route::to_address(&callback, origin, self.callback_timeout()) else { return };
        let heard = move |server: &Server, result: CalloutResult<'_>, _: Duration| {
            tracing::debug!(?client, ?callback, ?result, "a callback path was tried");
            server.state.callback_path_40(client, result.is_ok());
        };
        if let Err(error) = self.call_out(route.call(CB_NULL, Vec::new()), now, Box::new(heard)) {
            tracing::debug!(?client, %error, "a callback path cannot be tried");
        }
    }
}
