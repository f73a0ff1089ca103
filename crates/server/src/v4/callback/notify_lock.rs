//! CB_NOTIFY_LOCK (RFC 8881 §20.11): tells a client that a refused lock may be available now.

use std::time::Duration;

use proto::nfs4::{CallbackArgOp, CallbackResOp, CbNotifyLockArgs, ClientId, FileHandle, StateOwner};
use state::LockNotice;

use super::CallbackFailure;
use crate::exports::ExportTable;
use crate::server::Server;

impl Server {
    /// Notifies a client once; if the call is lost, the client still polls by itself (RFC 8881 §18.10.4).
    pub(crate) fn notify_lock(&self, notice: &LockNotice, now: Duration) {
        let exports = self.exports.load();
        let Some(exported) = exports.showing(&notice.file) else { return };
        let handle = ExportTable::wire_handle(exported, &notice.file.node);
        let Some(file) = FileHandle::new(handle.as_bytes()) else { return };
        let owner = StateOwner { client: ClientId(notice.client.0), owner: &notice.owner };
        let operation = CallbackArgOp::CbNotifyLock(CbNotifyLockArgs { file, owner });
        let failed = notice.clone();
        let on_reply = move |server: &Server, result: Result<CallbackResOp<'_>, CallbackFailure>, now: Duration| {
            tracing::debug!(client = ?failed.client, ?result, "a client was told of a lock");
            if result.is_err() {
                server.state.lock_notice_failed(now, &failed);
            }
        };
        if let Err(error) = self.call_back(notice.client, operation, now, Box::new(on_reply)) {
            tracing::debug!(client = ?notice.client, %error, "a client cannot be told of a lock");
            self.state.lock_notice_failed(now, notice);
        }
    }
}
