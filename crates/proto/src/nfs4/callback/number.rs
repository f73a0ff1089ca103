//! The operations of callbacks as data.

use crate::nfs4::MinorVersion;

/// The operations of a CB_COMPOUND by number, in all minor versions (`nfs_cb_opnum4`).
///
/// The reply to any other number contains [`OP_ILLEGAL`](crate::nfs4::OP_ILLEGAL).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallbackNumber {
    /// CB_GETATTR: requests the attributes of a file that is delegated for writing (RFC 7530 §18.1, RFC 8881 §20.1).
    CbGetattr = 3,
    /// CB_RECALL: recalls a delegation (RFC 7530 §18.2, RFC 8881 §20.2).
    CbRecall = 4,
    /// CB_LAYOUTRECALL: recalls layouts (RFC 8881 §20.3).
    CbLayoutrecall = 5,
    /// CB_NOTIFY: reports changes of a delegated directory (RFC 8881 §20.4).
    CbNotify = 6,
    /// CB_PUSH_DELEG: grants a delegation that was requested earlier (RFC 8881 §20.5).
    CbPushDeleg = 7,
    /// CB_RECALL_ANY: recalls some delegations and layouts (RFC 8881 §20.6).
    CbRecallAny = 8,
    /// CB_RECALLABLE_OBJ_AVAIL: reports resources for delegations and layouts (RFC 8881 §20.7).
    CbRecallableObjAvail = 9,
    /// CB_RECALL_SLOT: reduces the number of slots (RFC 8881 §20.8).
    CbRecallSlot = 10,
    /// CB_SEQUENCE: assigns a callback to a session slot (RFC 8881 §20.9).
    CbSequence = 11,
    /// CB_WANTS_CANCELLED: reports that pending requests for delegations are cancelled (RFC 8881 §20.10).
    CbWantsCancelled = 12,
    /// CB_NOTIFY_LOCK: reports that a lock may be available now (RFC 8881 §20.11).
    CbNotifyLock = 13,
    /// CB_NOTIFY_DEVICEID: reports changes of data servers (RFC 8881 §20.12).
    CbNotifyDeviceid = 14,
    /// CB_OFFLOAD: reports the result of a copy (RFC 7862 §16.1).
    CbOffload = 15,
}

/// The properties of a callback operation in the RFCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallbackInfo {
    /// The operation.
    pub number: CallbackNumber,
    /// Its name.
    pub name: &'static str,
    /// The first minor version that has it.
    pub since: MinorVersion,
}

/// The smallest number of an operation.
const FIRST_NUMBER: u32 = CallbackNumber::CbGetattr as u32;

impl CallbackNumber {
    /// The operation of this number in any minor version, or `None`.
    pub fn from_number(number: u32) -> Option<CallbackNumber> {
        let index = number.checked_sub(FIRST_NUMBER)?;
        Some(CALLBACKS.get(index as usize)?.number)
    }

    /// The operation of this number in a minor version, or `None`: the client answers OP_ILLEGAL.
    pub fn lookup(number: u32, minor: MinorVersion) -> Option<CallbackNumber> {
        CallbackNumber::from_number(number).filter(|found| found.info().since <= minor)
    }

    /// The number on the wire.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Its properties in the RFCs.
    pub const fn info(self) -> &'static CallbackInfo {
        &CALLBACKS[(self as u32 - FIRST_NUMBER) as usize]
    }

    /// Its name in the RFCs.
    pub const fn name(self) -> &'static str {
        self.info().name
    }
}

/// All operations of callbacks, by number.
pub const CALLBACKS: [CallbackInfo; 13] = {
    use CallbackNumber as N;
    use MinorVersion::{V0, V1, V2};
    const fn op(number: CallbackNumber, name: &'static str, since: MinorVersion) -> CallbackInfo {
        CallbackInfo { number, name, since }
    }
    [
        op(N::CbGetattr, "CB_GETATTR", V0),
        op(N::CbRecall, "CB_RECALL", V0),
        op(N::CbLayoutrecall, "CB_LAYOUTRECALL", V1),
        op(N::CbNotify, "CB_NOTIFY", V1),
        op(N::CbPushDeleg, "CB_PUSH_DELEG", V1),
        op(N::CbRecallAny, "CB_RECALL_ANY", V1),
        op(N::CbRecallableObjAvail, "CB_RECALLABLE_OBJ_AVAIL", V1),
        op(N::CbRecallSlot, "CB_RECALL_SLOT", V1),
        op(N::CbSequence, "CB_SEQUENCE", V1),
        op(N::CbWantsCancelled, "CB_WANTS_CANCELLED", V1),
        op(N::CbNotifyLock, "CB_NOTIFY_LOCK", V1),
        op(N::CbNotifyDeviceid, "CB_NOTIFY_DEVICEID", V1),
        op(N::CbOffload, "CB_OFFLOAD", V2),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_at_its_number() {
        for (number, info) in (FIRST_NUMBER..).zip(CALLBACKS) {
            assert_eq!(info.number.number(), number, "{}", info.name);
            assert_eq!(CallbackNumber::from_number(number), Some(info.number));
            assert_eq!(info.number.info(), &info);
        }
        assert_eq!(CallbackNumber::from_number(16), None);
        assert_eq!(CallbackNumber::from_number(2), None);
    }

    #[test]
    fn minor_versions_have_as_many_operations_as_their_rfcs_list() {
        let count = |minor| (0..100).filter(|number| CallbackNumber::lookup(*number, minor).is_some()).count();
        assert_eq!((count(MinorVersion::V0), count(MinorVersion::V1), count(MinorVersion::V2)), (2, 12, 13));
    }
}
