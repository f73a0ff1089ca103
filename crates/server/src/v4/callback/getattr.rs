//! CB_GETATTR (RFC 7530 §18.1, RFC 8881 §20.1, §10.4.3): asks the holder of a write delegation for the file's size and
//! whether it changed.

use std::time::Duration;

use proto::nfs4::{Attribute, AttributeValue, CallbackArgOp, CallbackResOp, CbGetattrArgs, FileHandle, Res};
use state::{AccessKind, FileKey, Requester, WriteDelegation};
use vfs::{Attributes, FileKind, Timestamp};

use super::CallbackFailure;
use super::pending::HolderAnswer;
use crate::fault::Fault;
use crate::node::Node;
use crate::server::Server;

/// The source of a file's attributes for others while a client holds a write delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CurrentAttributes {
    /// The file system.
    AsStored,
    /// The holder of the delegation.
    FromHolder(Attributes),
    /// The answer is pending: retry later.
    Later,
}

impl Node<'_> {
    /// What takes the place of `stored`, the attributes of this file in the file system: another client may hold a
    /// write delegation and have changed the file (RFC 8881 §10.4.3).
    #[inline]
    pub(crate) fn attributes_of_holder(&self, stored: &Attributes) -> Result<Option<Attributes>, Fault> {
        if stored.kind != FileKind::Regular || !self.server.state.may_be_delegated_for_writing(&self.file_key()) {
            return Ok(None);
        }
        self.ask_for_attributes(stored)
    }

    fn ask_for_attributes(&self, stored: &Attributes) -> Result<Option<Attributes>, Fault> {
        let mut has_waited = false;
        self.until_returned(|| {
            match self.server.true_attributes(&self.file_key(), stored, self.requester, self.now) {
                // A holder that returned its delegation meanwhile has written its data back first.
                CurrentAttributes::AsStored if has_waited => Ok(Some(self.attributes()?)),
                CurrentAttributes::AsStored => Ok(None),
                CurrentAttributes::FromHolder(attributes) => Ok(Some(attributes)),
                CurrentAttributes::Later => {
                    has_waited = true;
                    Err(Fault::Recalling)
                }
            }
        })
    }
}

impl Server {
    /// Corrects `attributes` of a file for `who`, given that another client may hold a write delegation.
    fn true_attributes(
        &self,
        file: &FileKey,
        attributes: &Attributes,
        who: Requester,
        now: Duration,
    ) -> CurrentAttributes {
        let Some(delegation) = self.state.write_delegation(file, who) else { return CurrentAttributes::AsStored };
        let answer = match self.callbacks.attributes.find_or_ask(delegation.stateid, now) {
            Some(answer) => answer,
            None => self.ask_holder(&delegation, now),
        };
        match answer {
            HolderAnswer::Unchanged if !delegation.modified => CurrentAttributes::AsStored,
            HolderAnswer::Unchanged => {
                CurrentAttributes::FromHolder(self.changed(attributes, attributes.size_bytes, now))
            }
            HolderAnswer::Changed { size_bytes } => {
                CurrentAttributes::FromHolder(self.changed(attributes, size_bytes, now))
            }
            HolderAnswer::Missing => CurrentAttributes::Later,
            // The next attempt finds out whether the delegation is gone or being recalled.
            HolderAnswer::None => match self.state.conflict_check(now, file, AccessKind::Look, who) {
                Ok(state::AccessCheck::Proceed) => CurrentAttributes::AsStored,
                _ => CurrentAttributes::Later,
            },
        }
    }

    /// The attributes of a file that its holder changed and has not written back. The change attribute differs from the
    /// earlier one. Those after the write-back are larger, since they come from the clock.
    fn changed(&self, stored: &Attributes, size_bytes: u64, now: Duration) -> Attributes {
        let since = (self.settings.wall_clock)().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let modified = Timestamp { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() };
        let change = stored.change.wrapping_add(1 + now.as_secs());
        Attributes { size_bytes, change, modified, changed: modified, ..*stored }
    }

    fn ask_holder(&self, delegation: &WriteDelegation, now: Duration) -> HolderAnswer {
        let Some(file) = FileHandle::new(&delegation.handle) else { return HolderAnswer::None };
        let request = Attribute::set(&[Attribute::Change, Attribute::Size]);
        let operation = CallbackArgOp::CbGetattr(CbGetattrArgs { file, request });
        let (client, stateid, change) = (delegation.client, delegation.stateid, delegation.change);
        let on_reply = move |server: &Server, result: Result<CallbackResOp<'_>, CallbackFailure>, now: Duration| {
            let answer = answer(&result, change);
            tracing::debug!(?client, ?answer, "a client was asked for the attributes of a file that it holds");
            if matches!(answer, HolderAnswer::Changed { .. }) {
                server.state.delegation_modified(&stateid);
            }
            server.callbacks.attributes.note(stateid, answer, now);
        };
        match self.call_back(client, operation, now, Box::new(on_reply)) {
            Ok(()) => HolderAnswer::Missing,
            Err(error) => {
                tracing::debug!(?client, %error, "a client cannot be asked for the attributes of a file that it holds");
                self.callbacks.attributes.note(stateid, HolderAnswer::None, now);
                HolderAnswer::None
            }
        }
    }
}

/// The holder has changed the file if its change attribute differs from the one granted with the delegation (RFC 8881
/// §10.4.3).
fn answer(result: &Result<CallbackResOp<'_>, CallbackFailure>, granted_change: u64) -> HolderAnswer {
    let Ok(CallbackResOp::CbGetattr(Res::Ok(fattr))) = result else { return HolderAnswer::None };
    let (mut change, mut size_bytes) = (None, None);
    for value in fattr.values() {
        match value {
            Ok(AttributeValue::Change(value)) => change = Some(value),
            Ok(AttributeValue::Size(value)) => size_bytes = Some(value),
            _ => return HolderAnswer::None,
        }
    }
    match (change, size_bytes) {
        (Some(change), _) if change == granted_change => HolderAnswer::Unchanged,
        (Some(_), Some(size_bytes)) => HolderAnswer::Changed { size_bytes },
        _ => HolderAnswer::None,
    }
}
