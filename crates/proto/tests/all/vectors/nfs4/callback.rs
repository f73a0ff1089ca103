//! The callback program.

use super::*;

use crate::vectors::vector;

/// Shows that the parts are the arguments `value` of the operation, also behind its number.
fn cb_arguments<O: CallbackOperation>(parts: &[&str], value: O::Arguments<'static>)
where
    O::Arguments<'static>: PartialEq + Debug,
{
    let bytes = leaked(wire(parts));
    both_ways(O::NUMBER.name(), bytes, value);
    in_union::<CallbackArgOp<'static>>(O::NUMBER.number(), bytes);
}

/// Shows that the parts are the reply `value` of the operation, also behind its number.
fn cb_reply<O: CallbackOperation>(parts: &[&str], value: O::Reply<'static>)
where
    O::Reply<'static>: PartialEq + Debug,
{
    let bytes = leaked(wire(parts));
    both_ways(O::NUMBER.name(), bytes, value);
    in_union::<CallbackResOp<'static>>(O::NUMBER.number(), bytes);
}

#[test]
fn cb_compound() {
    let bytes = wire(&["00000000 00000000 00000009 00000001 00000004", STATEID, YES, HANDLE]);
    let recall = CbRecallArgs { stateid: STATEID_VALUE, truncate: true, file: handle() };
    vector::arguments::<CbCompound>(
        &bytes,
        CbCompoundArgs {
            tag: b"",
            minor_version: 0,
            callback_ident: 9,
            operations: vec![CallbackArgOp::CbRecall(recall)],
        },
    );
    let head = CbCompoundHead::decode(&mut Decoder::new(&bytes));
    assert_eq!(head, Ok(CbCompoundHead { tag: b"", minor_version: 0, callback_ident: 9, operations: 1 }));
    let results = vec![CallbackResOp::CbRecall(Res::Ok(())), CallbackResOp::Illegal(Status::OpIllegal)];
    vector::reply::<CbCompound>(
        &wire(&["0000273c 00000000 00000002 00000004", OK, "0000273c 0000273c"]),
        CbCompoundReply { status: Status::OpIllegal, tag: b"", results },
    );
    vector::arguments::<CbNull>(b"", ());
    vector::reply::<CbNull>(b"", ());
}

#[test]
fn only_operations_on_layouts_and_directories_are_missing_from_the_unions() {
    let is_missing = |info: &&CallbackInfo| {
        let bytes = info.number.number().to_be_bytes();
        matches!(CallbackArgOp::decode(&mut Decoder::new(&bytes)), Err(xdr::Error::BadValue { offset: 0, .. }))
    };
    let missing: Vec<&str> = CALLBACKS.iter().filter(is_missing).map(|info| info.name).collect();
    assert_eq!(missing, ["CB_LAYOUTRECALL", "CB_NOTIFY", "CB_NOTIFY_DEVICEID"]);
    bad::<CallbackArgOp<'_>>(&["00000010"]);
    bad::<CallbackResOp<'_>>(&["00000002"]);
}

#[test]
fn cb_getattr() {
    cb_arguments::<CbGetattr>(&[HANDLE, MASK], CbGetattrArgs { file: handle(), request: mask() });
    cb_reply::<CbGetattr>(&[OK, FATTR], Res::Ok(fattr()));
    cb_reply::<CbGetattr>(&["00002711"], Res::Fail(Status::BadHandle));
}

#[test]
fn cb_recall() {
    cb_arguments::<CbRecall>(
        &[STATEID, NO, HANDLE],
        CbRecallArgs { stateid: STATEID_VALUE, truncate: false, file: handle() },
    );
    cb_reply::<CbRecall>(&[OK], Res::Ok(()));
    cb_reply::<CbRecall>(&[BAD_STATEID], Res::Fail(Status::BadStateid));
}

#[test]
fn cb_push_deleg() {
    let args = CbPushDelegArgs { file: handle(), delegation: Delegation::None };
    cb_arguments::<CbPushDeleg>(&[HANDLE, "00000000"], args);
    cb_reply::<CbPushDeleg>(&["00002765"], Res::Fail(Status::RejectDeleg));
}

#[test]
fn cb_recall_any_and_available() {
    let types = Bitmap::of(&[RECALL_ANY_READ_DELEGATION, RECALL_ANY_WRITE_DELEGATION, RECALL_ANY_DIR_DELEGATION]);
    let args = CbRecallAnyArgs { objects_to_keep: 10, types };
    cb_arguments::<CbRecallAny>(&["0000000a 00000001 00000007"], args);
    cb_reply::<CbRecallAny>(&["00000016"], Res::Fail(Status::Inval));
    cb_arguments::<CbRecallableObjAvail>(&["0000000a 00000001 00000007"], args);
    cb_reply::<CbRecallableObjAvail>(&[OK], Res::Ok(()));
}

#[test]
fn cb_recall_slot() {
    cb_arguments::<CbRecallSlot>(&["00000007"], CbRecallSlotArgs { target_highest_slot: SlotId(7) });
    cb_reply::<CbRecallSlot>(&["0000275d"], Res::Fail(Status::BadHighSlot));
}

#[test]
fn cb_sequence() {
    let calls = vec![ReferringCall { sequence: 4, slot: SlotId(2) }];
    cb_arguments::<CbSequence>(
        &[SESSION, "00000021 00000001 00000003", NO, "00000001", SESSION, "00000001 00000004 00000002"],
        CbSequenceArgs {
            session: SESSION_VALUE,
            sequence: 33,
            slot: SlotId(1),
            highest_slot: SlotId(3),
            cache_this: false,
            referring_calls: vec![ReferringCalls { session: SESSION_VALUE, calls }],
        },
    );
    cb_reply::<CbSequence>(
        &[OK, SESSION, "00000021 00000001 00000003 00000002"],
        Res::Ok(CbSequenceOk {
            session: SESSION_VALUE,
            sequence: 33,
            slot: SlotId(1),
            highest_slot: SlotId(3),
            target_highest_slot: SlotId(2),
        }),
    );
    cb_reply::<CbSequence>(&[DELAY], Res::Fail(Status::Delay));
}

#[test]
fn cb_wants_cancelled() {
    let args = CbWantsCancelledArgs { contended: true, resourced: false };
    cb_arguments::<CbWantsCancelled>(&[YES, NO], args);
    cb_reply::<CbWantsCancelled>(&["00002714"], Res::Fail(Status::NotSupp));
}

#[test]
fn cb_notify_lock() {
    cb_arguments::<CbNotifyLock>(&[HANDLE, OWNER], CbNotifyLockArgs { file: handle(), owner: OWNER_VALUE });
    cb_reply::<CbNotifyLock>(&[OK], Res::Ok(()));
}

#[test]
fn cb_offload() {
    let response =
        WriteResponse { callback_id: None, count: 4096, committed: StableHow::Unstable, verifier: VERIFIER_VALUE };
    let outcomes = [
        (vec![OK, NO, "0000000000001000 00000000", VERIFIER], OffloadOutcome::Ok(response)),
        (vec!["0000001c 0000000000000200"], OffloadOutcome::Failed { status: Status::NoSpc, bytes_copied: 512 }),
    ];
    for (parts, outcome) in outcomes {
        let bytes = [&[HANDLE, STATEID], &parts[..]].concat();
        cb_arguments::<CbOffload>(&bytes, CbOffloadArgs { file: handle(), stateid: STATEID_VALUE, outcome });
    }
    cb_reply::<CbOffload>(&[OK], Res::Ok(()));
}
