use super::client::Client;
use crate::{Error, Reason};

/// A client that nothing is mounted with so far. When nothing comes of it, the server is told so, and need not keep it until its lease ends.
pub(crate) struct Unused(Option<Client>, Client);

impl Unused {
    pub(crate) fn new(client: Client) -> Unused {
        Unused(Some(client.clone()), client)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.1
    }

    /// Takes the client, which is of use.
    pub(crate) fn keep(mut self) -> Client {
        self.0 = None;
        self.1.clone()
    }

    /// Takes leave of the server because of `error`: before the caller hears of it, who may end the program then, unless the server is not
    /// there to listen.
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
