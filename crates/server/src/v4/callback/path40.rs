//! The callback path of an NFSv4.0 client (RFC 7530 §16.33), and its test.

use std::net::IpAddr;
use std::time::Duration;

use proto::nfs4::{NetAddr, SetclientidArgs};
use state::{Callback40, CallbackRoute, ClientId};

use super::{CB_NULL, Route, address};
use crate::callout::CalloutResult;
use crate::server::Server;

/// The callback path that the client requests.
///
/// It must lead to the address that the client calls from. Otherwise, a client could make the server connect to other
/// hosts.
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
    /// Tests the callback path of a client: only a client with a working path gets delegations.
    pub(crate) fn try_callback_path(&self, client: ClientId, now: Duration) {
        let Ok(CallbackRoute::V40(callback)) = self.state.callback_route(client) else { return };
        let Some(origin) = self.state.origin(client) else { return };
        let Some(route) = Route::to_address(&callback, origin, self.callback_timeout()) else { return };
        let on_reply = move |server: &Server, result: CalloutResult<'_>, _: Duration| {
            tracing::debug!(?client, ?callback, ?result, "a callback path was tried");
            server.state.callback_path_40(client, result.is_ok());
        };
        if let Err(error) = self.call_out(route.call(CB_NULL, Vec::new()), now, Box::new(on_reply)) {
            tracing::debug!(?client, %error, "a callback path cannot be tried");
        }
    }
}
