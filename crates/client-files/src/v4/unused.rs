use super::client::Client;
use crate::{Error, Reason};

/// A client that serves no mount yet. Dropping it closes the client, so that the server need not keep it until the
/// lease expires.
pub(crate) struct Unused(Option<Client>, Client);

impl Unused {
    pub(crate) fn new(client: Client) -> Unused {
        Unused(Some(client.clone()), client)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.1
    }

    /// Takes the client, which a mount uses now.
    pub(crate) fn keep(mut self) -> Client {
        self.0 = None;
        self.1.clone()
    }

    /// Closes the client because of `error`, unless the server does not answer. It does so before the caller sees the
    /// error, who may end the program then.
    pub(crate) async fn leave_after(mut self, error: Error) -> Error {
        if !matches!(error.reason(), Reason::NoReply(_) | Reason::Connect { .. })
            && let Some(client) = self.0.take()
        {
            client.leave().await;
        }
        error
    }
}

impl Drop for Unused {
    fn drop(&mut self) {
        self.0.iter().for_each(Client::close_soon);
    }
}
