//! The operations that came with minor version 1.

use super::*;

/// AUTH_NONE, AUTH_SYS of user 5 on `host`, and RPCSEC_GSS.
const SECURITY: &str = "00000003 00000000 \
                        00000001 00000009 00000004 'host' 00000005 00000006 00000002 00000007 00000008 \
                        00000006 00000002 00000001 aa000000 00000002 bbcc0000";

fn security() -> Vec<CallbackSec<'static>> {
    let sys = AuthSysParms { stamp: 9, machine_name: b"host", uid: 5, gid: 6, gids: vec![7, 8] };
    let gss = GssCallbackHandles { service: GssService::Integrity, from_server: b"\xaa", from_client: b"\xbb\xcc" };
    vec![CallbackSec::None, CallbackSec::Sys(sys), CallbackSec::Gss(gss)]
}

#[test]
fn backchannel_ctl() {
    arguments::<BackchannelCtl>(
        &["40000001", SECURITY],
        BackchannelCtlArgs { program: 0x4000_0001, security: security() },
    );
    reply::<BackchannelCtl>(&[OK], Res::Ok(()));
    bad::<CallbackSec<'_>>(&["00000002"]);
}

#[test]
fn bind_conn_to_session() {
    let directions = [
        ("00000001", ClientDirection::Fore),
        ("00000002", ClientDirection::Back),
        ("00000003", ClientDirection::ForeOrBoth),
        ("00000007", ClientDirection::BackOrBoth),
    ];
    for (word, direction) in directions {
        arguments::<BindConnToSession>(
            &[SESSION, word, NO],
            BindConnToSessionArgs { session: SESSION_VALUE, direction, use_rdma: false },
        );
    }
    bad::<ClientDirection>(&["00000004"]);
    for (number, direction) in (1..).zip([ServerDirection::Fore, ServerDirection::Back, ServerDirection::Both]) {
        reply::<BindConnToSession>(
            &[OK, SESSION, &format!("{number:08x}"), NO],
            Res::Ok(BindConnToSessionOk { session: SESSION_VALUE, direction, use_rdma: false }),
        );
    }
    reply::<BindConnToSession>(&["00002744"], Res::Fail(Status::BadSession));
}

/// The implementation `wharf` of `example.org`.
const IMPLEMENTATION: &str = "00000001 0000000b 'example.org' 00 00000005 'wharf' 000000 0000000000000003 00000004";
const IMPLEMENTATION_VALUE: ImplId<'static> = ImplId { domain: b"example.org", name: b"wharf", date: TIME_VALUE };
/// SEQUENCE (53) and OPEN (18).
const PROTECTED_OPS: &str = "00000002 00000000 00200000 00000001 00040000";

fn protected_ops() -> StateProtectOps {
    StateProtectOps { must_enforce: Bitmap::of(&[53]), must_allow: Bitmap::of(&[18]) }
}

#[test]
fn exchange_id() {
    let args = |state_protect, implementation| ExchangeIdArgs {
        verifier: VERIFIER_VALUE,
        owner_id: b"host",
        flags: EXCHGID_SUPP_MOVED_REFER | EXCHGID_BIND_PRINC_STATEID,
        state_protect,
        implementation,
    };
    const HEAD: &str = "0807060504030201 00000004 'host' 00000101";
    arguments::<ExchangeId>(&[HEAD, "00000000 00000000"], args(StateProtect::None, None));
    arguments::<ExchangeId>(
        &[HEAD, "00000001", PROTECTED_OPS, IMPLEMENTATION],
        args(StateProtect::MachCred(protected_ops()), Some(IMPLEMENTATION_VALUE)),
    );
    let ssv = SsvParms {
        ops: protected_ops(),
        hash_algorithms: vec![Oid(b"\x2b\x0e\x03\x02\x1a")],
        encryption_algorithms: vec![],
        window: 4,
        gss_handles: 1,
    };
    arguments::<ExchangeId>(
        &[HEAD, "00000002", PROTECTED_OPS, "00000001 00000005 2b0e03021a 000000 00000000 00000004 00000001", NO],
        args(StateProtect::Ssv(ssv), None),
    );
    bad::<StateProtect<'_>>(&["00000003"]);
}

#[test]
fn exchange_id_with_two_implementations_is_refused() {
    bad::<ExchangeIdArgs<'_>>(&[VERIFIER, "00000000 00000000 00000000 00000002"]);
}

#[test]
fn exchange_id_reply() {
    const HEAD: &str = "00000000 1122334455667788 00000001 80010000";
    const TAIL: &str = "0000000000000009 00000002 'me' 0000 00000005 'scope' 000000";
    let ok = |state_protect, implementation| ExchangeIdOk {
        client: CLIENT_VALUE,
        sequence: 1,
        flags: EXCHGID_CONFIRMED_R | EXCHGID_USE_NON_PNFS,
        state_protect,
        server_owner: ServerOwner { minor_id: 9, major_id: b"me" },
        server_scope: b"scope",
        implementation,
    };
    reply::<ExchangeId>(&[HEAD, "00000000", TAIL, NO], Res::Ok(ok(StateProtected::None, None)));
    reply::<ExchangeId>(
        &[HEAD, "00000001", PROTECTED_OPS, TAIL, IMPLEMENTATION],
        Res::Ok(ok(StateProtected::MachCred(protected_ops()), Some(IMPLEMENTATION_VALUE))),
    );
    reply::<ExchangeId>(&["00002761"], Res::Fail(Status::NotOnlyOp));
}

/// Six numbers from 10 on, and no RDMA.
const CHANNEL: &str = "0000000a 0000000b 0000000c 0000000d 0000000e 0000000f 00000000";
const CHANNEL_VALUE: ChannelAttrs = ChannelAttrs {
    header_pad_size: 10,
    max_request_size: 11,
    max_response_size: 12,
    max_response_size_cached: 13,
    max_operations: 14,
    max_requests: 15,
    rdma_ird: None,
};
const RDMA_CHANNEL: &str = "0000000a 0000000b 0000000c 0000000d 0000000e 0000000f 00000001 00000010";

#[test]
fn create_session() {
    let back = ChannelAttrs { rdma_ird: Some(16), ..CHANNEL_VALUE };
    arguments::<CreateSession>(
        &[CLIENT, "00000001 00000003", CHANNEL, RDMA_CHANNEL, "40000000", SECURITY],
        CreateSessionArgs {
            client: CLIENT_VALUE,
            sequence: 1,
            flags: CREATE_SESSION_PERSIST | CREATE_SESSION_CONN_BACK_CHAN,
            fore: CHANNEL_VALUE,
            back,
            callback_program: CALLBACK_PROGRAM,
            callback_security: security(),
        },
    );
    reply::<CreateSession>(
        &[OK, SESSION, "00000001 00000002", CHANNEL, RDMA_CHANNEL],
        Res::Ok(CreateSessionOk {
            session: SESSION_VALUE,
            sequence: 1,
            flags: CREATE_SESSION_CONN_BACK_CHAN,
            fore: CHANNEL_VALUE,
            back,
        }),
    );
    reply::<CreateSession>(&["0000274f"], Res::Fail(Status::SeqMisordered));
}

#[test]
fn channel_with_two_rdma_depths_is_refused() {
    bad::<ChannelAttrs>(&[&CHANNEL[..54], "00000002 00000001 00000001"]);
}

#[test]
fn sessions_and_clients_are_destroyed() {
    arguments::<DestroySession>(&[SESSION], DestroySessionArgs { session: SESSION_VALUE });
    reply::<DestroySession>(&["00002749"], Res::Fail(Status::BackChanBusy));
    arguments::<DestroyClientid>(&[CLIENT], DestroyClientidArgs { client: CLIENT_VALUE });
    reply::<DestroyClientid>(&["0000275a"], Res::Fail(Status::ClientidBusy));
}

#[test]
fn stateids_are_tested_and_freed() {
    arguments::<FreeStateid>(&[STATEID], FreeStateidArgs { stateid: STATEID_VALUE });
    reply::<FreeStateid>(&["00002735"], Res::Fail(Status::LocksHeld));
    arguments::<TestStateid>(
        &["00000002", STATEID, STATEID_2],
        TestStateidArgs { stateids: vec![STATEID_VALUE, STATEID_2_VALUE] },
    );
    reply::<TestStateid>(
        &[OK, "00000002", OK, "00002767"],
        Res::Ok(TestStateidOk { statuses: vec![Status::Ok, Status::DelegRevoked] }),
    );
    reply::<TestStateid>(&[DELAY], Res::Fail(Status::Delay));
}

#[test]
fn get_dir_delegation() {
    arguments::<GetDirDelegation>(
        &[YES, "00000001 0000003f", TIME, "0000000000000000 00000001", MASK, "00000000"],
        GetDirDelegationArgs {
            signal_available: true,
            notification_types: Bitmap::of(&[0, 1, 2, 3, 4, 5]),
            child_delay: TIME_VALUE,
            dir_delay: Time { seconds: 0, nanoseconds: 1 },
            child_attributes: mask(),
            dir_attributes: Bitmap::EMPTY,
        },
    );
    let given = DirDelegationOk {
        cookie_verifier: VERIFIER_VALUE,
        stateid: STATEID_VALUE,
        notification: Bitmap::EMPTY,
        child_attributes: mask(),
        dir_attributes: Bitmap::EMPTY,
    };
    reply::<GetDirDelegation>(
        &[OK, "00000000", VERIFIER, STATEID, "00000000", MASK, "00000000"],
        Res::Ok(DirDelegation::Given(given)),
    );
    reply::<GetDirDelegation>(&[OK, "00000001 00000000"], Res::Ok(DirDelegation::Unavailable { will_signal: false }));
    reply::<GetDirDelegation>(&["00002714"], Res::Fail(Status::NotSupp));
}

#[test]
fn secinfo_no_name() {
    arguments::<SecinfoNoName>(&["00000000"], SecinfoStyle::CurrentFh);
    arguments::<SecinfoNoName>(&["00000001"], SecinfoStyle::Parent);
    bad::<SecinfoStyle>(&["00000002"]);
    reply::<SecinfoNoName>(&[OK, "00000001 00000001"], Res::Ok(SecinfoOk { flavors: vec![Flavor::Plain(1)] }));
}

#[test]
fn sequence() {
    arguments::<Sequence>(
        &[SESSION, "00000021 00000002 00000003", YES],
        SequenceArgs {
            session: SESSION_VALUE,
            sequence: 33,
            slot: SlotId(2),
            highest_slot: SlotId(3),
            cache_this: true,
        },
    );
    reply::<Sequence>(
        &[OK, SESSION, "00000021 00000002 0000003f 0000001f 00000101"],
        Res::Ok(SequenceOk {
            session: SESSION_VALUE,
            sequence: 33,
            slot: SlotId(2),
            highest_slot: SlotId(63),
            target_highest_slot: SlotId(31),
            status_flags: SEQ_STATUS_RESTART_RECLAIM_NEEDED | SEQ_STATUS_CB_PATH_DOWN,
        }),
    );
    reply::<Sequence>(&["00002754"], Res::Fail(Status::RetryUncachedRep));
}

#[test]
fn set_ssv() {
    arguments::<SetSsv>(&["00000002 aabb0000 00000001 cc000000"], SetSsvArgs { ssv: b"\xaa\xbb", digest: b"\xcc" });
    reply::<SetSsv>(&[OK, "00000001 dd000000"], Res::Ok(SetSsvOk { digest: b"\xdd" }));
    reply::<SetSsv>(&["00002743"], Res::Fail(Status::BadSessionDigest));
}

#[test]
fn want_delegation() {
    let claims = [
        ("00000001 00000001", DelegationClaim::Previous { delegation: DelegationType::Read }),
        ("00000004", DelegationClaim::Fh),
        ("00000006", DelegationClaim::DelegPrevFh),
    ];
    for (bytes, claim) in claims {
        arguments::<WantDelegation>(&["00000100", bytes], WantDelegationArgs { want: WANT_READ_DELEG, claim });
    }
    bad::<DelegationClaim>(&["00000000"]);
    reply::<WantDelegation>(&[OK, "00000003 00000007"], Res::Ok(Delegation::NoneExt(WhyNoDelegation::Cancelled)));
    reply::<WantDelegation>(&["00002714"], Res::Fail(Status::NotSupp));
}

#[test]
fn reclaim_complete() {
    arguments::<ReclaimComplete>(&[NO], ReclaimCompleteArgs { one_fs: false });
    reply::<ReclaimComplete>(&["00002746"], Res::Fail(Status::CompleteAlready));
}
