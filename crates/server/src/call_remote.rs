//! Calls programs on other hosts: first their rpcbind, and then the port that it tells.

use std::time::Duration;

use crate::callout::Callout;
use crate::remote::RemoteCallout;
use crate::server::{Server, Then};

impl Server {
    /// Queries a program's port and calls it; `then` runs with the result. When too many calls are in progress, `then`
    /// never runs: callers need a timeout of their own.
    pub(crate) fn call_remote(&self, call: RemoteCallout, now: Duration, then: Then) {
        let question = call.question();
        let found: Then = Box::new(move |server, answer, now| match call.answered_port(answer) {
            Ok(port) => {
                let callout = call.callout(port, call.procedure, call.arguments.clone());
                server.call_out_or_warn(callout, now, then);
            }
            Err(error) => then(server, Err(error), now),
        });
        self.call_out_or_warn(question, now, found);
    }

    fn call_out_or_warn(&self, callout: Callout, now: Duration, then: Then) {
        let (to, procedure) = (callout.destination, callout.procedure);
        if let Err(error) = self.call_out(callout, now, then) {
            tracing::warn!(?to, ?procedure, %error, "cannot call another host");
        }
    }
}
