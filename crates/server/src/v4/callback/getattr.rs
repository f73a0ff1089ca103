//! CB_GETATTR (RFC 7530 §18.1, RFC 8881 §20.1, §10.4.3): asks the holder of a write delegation for the file's size and
//! whether it changed.

use std::time::Duration;

use proto::nfs4::{Attribute, AttributeValue, CallbackArgOp, CallbackResOp, CbGetattrArgs, FileHandle, Res};
use state::{AccessKind, Stateid, WriteDelegation};
use vfs::{Attributes, Context, FileKind, SetAttributes, SetTime};

use super::CallbackFailure;
use super::pending::HolderAnswer;
use crate::fault::Fault;
use crate::node::Node;
use crate::server::Server;

/// What is known of a file's attributes while a client may hold a write delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CurrentAttributes {
    /// Those of the file system.
    AsStored,
    /// The holder of the delegation has changed the file, which has this size.
    Changed { size_bytes: u64 },
    /// The holder has not answered, or it is to return the delegation: retry later.
    Later { asked: Option<Stateid> },
}

impl Node<'_> {
    /// What takes the place of `stored`, the attributes of this file in the file system: another client may hold a
    /// write delegation and have changed the file (RFC 8881 §10.4.3).
    #[inline]
    pub(crate) fn attributes_of_holder(&self, stored: &Attributes) -> Result<Option<Attributes>, Fault> {
        if stored.kind != FileKind::Regular || !self.server.state.may_be_delegated_for_writing(&self.file_key()) {
            return Ok(None);
        }
        self.ask_for_attributes()
    }

    fn ask_for_attributes(&self) -> Result<Option<Attributes>, Fault> {
        let (mut has_waited, mut unanswered) = (false, None);
        let found = self.until_returned(|| match self.server.current_attributes(self) {
            // A holder that returned its delegation meanwhile has written its data back first.
            CurrentAttributes::AsStored if has_waited => Ok(Some(self.attributes()?)),
            CurrentAttributes::AsStored => Ok(None),
            CurrentAttributes::Changed { size_bytes } => self.changed_by_holder(size_bytes),
            CurrentAttributes::Later { asked } => {
                (has_waited, unanswered) = (true, asked);
                Err(Fault::Recalling)
            }
        });
        if let (Err(Fault::Recalling), Some(stateid)) = (&found, unanswered) {
            self.server.callbacks.attributes.abandon(stateid);
        }
        found
    }

    /// The attributes of a file that its holder changed and has not written back. The file system's times and change
    /// attribute move with each such answer: what is reported is never taken back, whatever the holder does next.
    fn changed_by_holder(&self, size_bytes: u64) -> Result<Option<Attributes>, Fault> {
        let set = SetAttributes { modified: Some(SetTime::Now), ..SetAttributes::default() };
        let context = Context { caller: Context::ROOT.caller, ..self.context };
        let _change = self.announce_change();
        self.server.files.forget_attributes(self.context.worker);
        let stored = self.fs().set_attributes(&context, &self.handle, &set)?;
        Ok(Some(Attributes { size_bytes, ..stored }))
    }
}

impl Server {
    /// What is known of a file's attributes, given that another client may hold a write delegation.
    fn current_attributes(&self, node: &Node<'_>) -> CurrentAttributes {
        let (file, who, now) = (&node.file_key(), node.requester, node.now);
        let Some(delegation) = self.state.write_delegation(file, who) else { return CurrentAttributes::AsStored };
        let answer = match self.callbacks.attributes.find_or_ask(delegation.stateid, now) {
            Some(answer) => answer,
            None => self.ask_holder(&delegation, now),
        };
        match answer {
            HolderAnswer::Unchanged => CurrentAttributes::AsStored,
            HolderAnswer::Changed { size_bytes } => CurrentAttributes::Changed { size_bytes },
            HolderAnswer::Missing => CurrentAttributes::Later { asked: Some(delegation.stateid) },
            // The next attempt finds out whether the delegation is gone or being recalled.
            HolderAnswer::None => match self.state.conflict_check(now, file, AccessKind::Look, who) {
                Ok(state::AccessCheck::Proceed) => CurrentAttributes::AsStored,
                _ => CurrentAttributes::Later { asked: None },
            },
        }
    }

    fn ask_holder(&self, delegation: &WriteDelegation, now: Duration) -> HolderAnswer {
        let Some(file) = FileHandle::new(&delegation.handle) else { return HolderAnswer::None };
        let request = Attribute::set(&[Attribute::Change, Attribute::Size]);
        let operation = CallbackArgOp::CbGetattr(CbGetattrArgs { file, request });
        let (client, stateid, change) = (delegation.client, delegation.stateid, delegation.change);
        let on_reply = move |server: &Server, result: Result<CallbackResOp<'_>, CallbackFailure>, now: Duration| {
            let answer = answer(&result, change);
            tracing::debug!(?client, ?answer, "a client was asked for the attributes of a file that it holds");
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
