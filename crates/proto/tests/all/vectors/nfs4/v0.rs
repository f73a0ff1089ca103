//! The operations that minor version 0 has.

use super::*;

#[test]
fn access() {
    let all = ACCESS_READ | ACCESS_LOOKUP | ACCESS_MODIFY | ACCESS_EXTEND | ACCESS_DELETE | ACCESS_EXECUTE;
    let xattr = ACCESS_XAREAD | ACCESS_XAWRITE | ACCESS_XALIST;
    arguments::<Access>(&["000001ff"], AccessArgs { access: all | xattr });
    reply::<Access>(&[OK, "0000003f 00000003"], Res::Ok(AccessOk { supported: all, access: 3 }));
    reply::<Access>(&[STALE], Res::Fail(Status::Stale));
}

#[test]
fn close() {
    arguments::<Close>(&["00000009", STATEID], CloseArgs { seqid: 9, open_stateid: STATEID_VALUE });
    reply::<Close>(&[OK, STATEID_2], Res::Ok(STATEID_2_VALUE));
    reply::<Close>(&["00002735"], Res::Fail(Status::LocksHeld));
}

#[test]
fn commit() {
    arguments::<Commit>(&["0000000100000000 00001000"], CommitArgs { offset: 1 << 32, count: 4096 });
    reply::<Commit>(&[OK, VERIFIER], Res::Ok(VERIFIER_VALUE));
    reply::<Commit>(&["00000005"], Res::Fail(Status::Io));
}

#[test]
fn create() {
    let device = SpecData { major: 8, minor: 1 };
    let kinds = [
        ("00000002", CreateType::Directory),
        ("00000003 00000008 00000001", CreateType::BlockDevice(device)),
        ("00000004 00000008 00000001", CreateType::CharDevice(device)),
        ("00000005 00000006 '../lib' 0000", CreateType::Symlink(b"../lib")),
        ("00000006", CreateType::Socket),
        ("00000007", CreateType::Fifo),
        ("00000001", CreateType::Other),
    ];
    for (bytes, kind) in kinds {
        arguments::<Create>(&[bytes, NAME, FATTR], CreateArgs { kind, name: ETC, attributes: fattr() });
    }
    reply::<Create>(&[OK, CHANGE, MASK], Res::Ok(CreateOk { change: CHANGE_VALUE, attributes_set: mask() }));
    reply::<Create>(&["00002717"], Res::Fail(Status::BadType));
}

#[test]
fn create_of_a_named_attribute_decodes_so_that_it_can_be_refused() {
    let bytes = wire(&["00000009", NAME, NO_FATTR]);
    let args = CreateArgs::decode(&mut Decoder::new(&bytes)).unwrap();
    assert_eq!(args, CreateArgs { kind: CreateType::Other, name: ETC, attributes: Fattr::EMPTY });
}

#[test]
fn delegations_are_purged_and_returned() {
    arguments::<Delegpurge>(&[CLIENT], DelegpurgeArgs { client: CLIENT_VALUE });
    reply::<Delegpurge>(&[OK], Res::Ok(()));
    reply::<Delegpurge>(&["00002714"], Res::Fail(Status::NotSupp));
    arguments::<Delegreturn>(&[STATEID], DelegreturnArgs { stateid: STATEID_VALUE });
    reply::<Delegreturn>(&[OK], Res::Ok(()));
    reply::<Delegreturn>(&[BAD_STATEID], Res::Fail(Status::BadStateid));
}

#[test]
fn getattr() {
    arguments::<Getattr>(&[MASK], GetattrArgs { request: mask() });
    reply::<Getattr>(&[OK, FATTR], Res::Ok(fattr()));
    reply::<Getattr>(&[OK, NO_FATTR], Res::Ok(Fattr::EMPTY));
    reply::<Getattr>(&[DELAY], Res::Fail(Status::Delay));
}

#[test]
fn file_handles_are_put_got_saved_and_restored() {
    arguments::<Getfh>(&[], ());
    reply::<Getfh>(&[OK, HANDLE], Res::Ok(handle()));
    reply::<Getfh>(&["00002724"], Res::Fail(Status::NoFileHandle));
    arguments::<Putfh>(&[HANDLE], PutfhArgs { object: handle() });
    reply::<Putfh>(&[OK], Res::Ok(()));
    reply::<Putfh>(&["00002711"], Res::Fail(Status::BadHandle));
    arguments::<Putpubfh>(&[], ());
    reply::<Putpubfh>(&["00002720"], Res::Fail(Status::WrongSec));
    arguments::<Putrootfh>(&[], ());
    reply::<Putrootfh>(&[OK], Res::Ok(()));
    arguments::<Savefh>(&[], ());
    reply::<Savefh>(&[OK], Res::Ok(()));
    arguments::<Restorefh>(&[], ());
    reply::<Restorefh>(&["0000272e"], Res::Fail(Status::RestoreFh));
}

#[test]
fn link() {
    arguments::<Link>(&[NAME], LinkArgs { new_name: ETC });
    reply::<Link>(&[OK, CHANGE], Res::Ok(CHANGE_VALUE));
    reply::<Link>(&["0000001f"], Res::Fail(Status::MLink));
}

#[test]
fn lock() {
    let new = Locker::New { open_seqid: 3, open_stateid: STATEID_VALUE, lock_seqid: 4, owner: OWNER_VALUE };
    arguments::<Lock>(
        &["00000002 00000001", RANGE, YES, "00000003", STATEID, "00000004", OWNER],
        LockArgs { lock_type: LockType::Write, reclaim: true, offset: 1 << 32, length: 4096, locker: new },
    );
    let existing = Locker::Existing { lock_stateid: STATEID_VALUE, lock_seqid: 5 };
    let kinds = [LockType::Read, LockType::Write, LockType::ReadWait, LockType::WriteWait];
    for (number, lock_type) in (1..).zip(kinds) {
        arguments::<Lock>(
            &[&format!("{number:08x}"), NO, "0000000000000000 ffffffffffffffff", NO, STATEID, "00000005"],
            LockArgs { lock_type, reclaim: false, offset: 0, length: u64::MAX, locker: existing },
        );
    }
    bad::<LockType>(&["00000000"]);
    bad::<LockType>(&["00000005"]);
    bad::<Locker<'_>>(&["00000002"]);
    reply::<Lock>(&[OK, STATEID], ResOr::Ok(LockOk { stateid: STATEID_VALUE }));
    reply::<Lock>(&["0000271a", RANGE, "00000001", OWNER], ResOr::Explained(denied()));
    reply::<Lock>(&["0000271d"], ResOr::Fail(Status::Grace));
}

fn denied() -> LockDenied<'static> {
    LockDenied { offset: 1 << 32, length: 4096, lock_type: LockType::Read, owner: OWNER_VALUE }
}

#[test]
fn lockt() {
    arguments::<Lockt>(
        &["00000002", RANGE, OWNER],
        LocktArgs { lock_type: LockType::Write, offset: 1 << 32, length: 4096, owner: OWNER_VALUE },
    );
    reply::<Lockt>(&[OK], ResOr::Ok(()));
    reply::<Lockt>(&["0000271a", RANGE, "00000001", OWNER], ResOr::Explained(denied()));
    reply::<Lockt>(&["00000016"], ResOr::Fail(Status::Inval));
}

#[test]
fn locku() {
    arguments::<Locku>(
        &["00000001 00000006", STATEID, RANGE],
        LockuArgs { lock_type: LockType::Read, seqid: 6, stateid: STATEID_VALUE, offset: 1 << 32, length: 4096 },
    );
    reply::<Locku>(&[OK, STATEID_2], Res::Ok(STATEID_2_VALUE));
    reply::<Locku>(&["0000272c"], Res::Fail(Status::LockRange));
}

#[test]
fn lookup_and_lookupp() {
    arguments::<Lookup>(&[NAME], LookupArgs { name: ETC });
    reply::<Lookup>(&[OK], Res::Ok(()));
    reply::<Lookup>(&["00000002"], Res::Fail(Status::NoEnt));
    arguments::<Lookupp>(&[], ());
    reply::<Lookupp>(&["00000014"], Res::Fail(Status::NotDir));
}

#[test]
fn verify_and_nverify() {
    arguments::<Verify>(&[FATTR], VerifyArgs { attributes: fattr() });
    reply::<Verify>(&["0000272b"], Res::Fail(Status::NotSame));
    arguments::<Nverify>(&[FATTR], NverifyArgs { attributes: fattr() });
    reply::<Nverify>(&["00002719"], Res::Fail(Status::Same));
}

const OPEN_HEAD: &str = "00000009 00000003 00000002";

fn open_args(how: OpenHow<'static>, claim: OpenClaim<'static>) -> OpenArgs<'static> {
    let (share_access, share_deny) = (SHARE_ACCESS_BOTH, SHARE_DENY_WRITE);
    OpenArgs { seqid: 9, share_access, share_deny, owner: OWNER_VALUE, how, claim }
}

#[test]
fn open_with_every_way_to_create() {
    let ways = [
        (vec!["00000000"], OpenHow::NoCreate),
        (vec!["00000001 00000000", FATTR], OpenHow::Create(CreateHow::Unchecked(fattr()))),
        (vec!["00000001 00000001", NO_FATTR], OpenHow::Create(CreateHow::Guarded(Fattr::EMPTY))),
        (vec!["00000001 00000002", VERIFIER], OpenHow::Create(CreateHow::Exclusive(VERIFIER_VALUE))),
        (
            vec!["00000001 00000003", VERIFIER, FATTR],
            OpenHow::Create(CreateHow::Exclusive41 { verifier: VERIFIER_VALUE, attributes: fattr() }),
        ),
    ];
    for (parts, how) in ways {
        let bytes = [&[OPEN_HEAD, OWNER], &parts[..], &["00000000", NAME]].concat();
        arguments::<Open>(&bytes, open_args(how, OpenClaim::Null(ETC)));
    }
    bad::<OpenHow<'_>>(&["00000002"]);
    bad::<CreateHow<'_>>(&["00000004"]);
}

#[test]
fn open_with_every_claim() {
    let claims = [
        (vec!["00000000", NAME], OpenClaim::Null(ETC)),
        (vec!["00000001 00000002"], OpenClaim::Previous { delegation: DelegationType::Write }),
        (vec!["00000002", STATEID, NAME], OpenClaim::DelegateCur { stateid: STATEID_VALUE, name: ETC }),
        (vec!["00000003", NAME], OpenClaim::DelegatePrev(ETC)),
        (vec!["00000004"], OpenClaim::Fh),
        (vec!["00000005", STATEID], OpenClaim::DelegCurFh { stateid: STATEID_VALUE }),
        (vec!["00000006"], OpenClaim::DelegPrevFh),
    ];
    for (parts, claim) in claims {
        let bytes = [&[OPEN_HEAD, OWNER, "00000000"], &parts[..]].concat();
        arguments::<Open>(&bytes, open_args(OpenHow::NoCreate, claim));
    }
    bad::<OpenClaim<'_>>(&["00000007"]);
}

/// An entry that allows OWNER@ to read.
const ACE: &str = "00000000 00000000 00000001 00000006 'OWNER@' 0000";
const ACE_VALUE: Ace<'static> =
    Ace { ace_type: ACE_ALLOW, flags: 0, access_mask: ACE_READ_DATA, who: Principal(b"OWNER@") };

#[test]
fn open_reply_with_every_delegation() {
    let size = SpaceLimit::Size { size_bytes: 1 << 20 };
    let blocks = SpaceLimit::Blocks { blocks: 16, block_bytes: 4096 };
    let write = |recall, space_limit| {
        Delegation::Write(WriteDelegation { stateid: STATEID_2_VALUE, recall, space_limit, permissions: ACE_VALUE })
    };
    let read = ReadDelegation { stateid: STATEID_2_VALUE, recall: true, permissions: ACE_VALUE };
    let delegations = [
        (vec!["00000000"], Delegation::None),
        (vec!["00000001", STATEID_2, YES, ACE], Delegation::Read(read)),
        (vec!["00000002", STATEID_2, NO, "00000001 0000000000100000", ACE], write(false, size)),
        (vec!["00000002", STATEID_2, YES, "00000002 00000010 00001000", ACE], write(true, blocks)),
    ];
    for (parts, delegation) in delegations {
        let bytes = [&[OK, STATEID, CHANGE, "00000006", MASK], &parts[..]].concat();
        let flags = RESULT_CONFIRM | RESULT_LOCKTYPE_POSIX;
        let ok = OpenOk { stateid: STATEID_VALUE, change: CHANGE_VALUE, flags, attributes_set: mask(), delegation };
        reply::<Open>(&bytes, Res::Ok(ok));
    }
    reply::<Open>(&["0000271f"], Res::Fail(Status::ShareDenied));
    bad::<Delegation<'_>>(&["00000006"]);
    bad::<SpaceLimit>(&["00000003"]);
}

#[test]
fn open_reply_without_a_delegation_tells_why() {
    let reasons = [
        ("00000000", WhyNoDelegation::NotWanted),
        ("00000001 00000001", WhyNoDelegation::Contention { will_push: true }),
        ("00000002 00000000", WhyNoDelegation::Resource { will_signal: false }),
        ("00000003", WhyNoDelegation::NotSuppFileType),
        ("00000004", WhyNoDelegation::WriteNotSuppFileType),
        ("00000005", WhyNoDelegation::NotSuppUpgrade),
        ("00000006", WhyNoDelegation::NotSuppDowngrade),
        ("00000007", WhyNoDelegation::Cancelled),
        ("00000008", WhyNoDelegation::IsDir),
    ];
    for (bytes, why) in reasons {
        let ok = OpenOk {
            stateid: STATEID_VALUE,
            change: CHANGE_VALUE,
            flags: RESULT_PRESERVE_UNLINKED | RESULT_MAY_NOTIFY_LOCK,
            attributes_set: Bitmap::EMPTY,
            delegation: Delegation::NoneExt(why),
        };
        reply::<Open>(&[OK, STATEID, CHANGE, "00000028 00000000 00000003", bytes], Res::Ok(ok));
    }
}

#[test]
fn opens_are_confirmed_and_downgraded() {
    arguments::<OpenConfirm>(&[STATEID, "0000000a"], OpenConfirmArgs { stateid: STATEID_VALUE, seqid: 10 });
    reply::<OpenConfirm>(&[OK, STATEID_2], Res::Ok(STATEID_2_VALUE));
    reply::<OpenConfirm>(&["0000272a"], Res::Fail(Status::BadSeqid));
    arguments::<OpenDowngrade>(
        &[STATEID, "0000000b 00000001 00000000"],
        OpenDowngradeArgs { stateid: STATEID_VALUE, seqid: 11, share_access: 1, share_deny: SHARE_DENY_NONE },
    );
    reply::<OpenDowngrade>(&[OK, STATEID_2], Res::Ok(STATEID_2_VALUE));
    reply::<OpenDowngrade>(&["00000016"], Res::Fail(Status::Inval));
}

#[test]
fn openattr() {
    arguments::<Openattr>(&[YES], OpenattrArgs { create: true });
    reply::<Openattr>(&["00002714"], Res::Fail(Status::NotSupp));
}

#[test]
fn read() {
    arguments::<Read>(
        &[STATEID, "0000000100000000 00001000"],
        ReadArgs { stateid: STATEID_VALUE, offset: 1 << 32, count: 4096 },
    );
    let ok = ReadOk { head: ReadHead { eof: true }, data: b"hello" };
    reply::<Read>(&[OK, YES, "00000005 'hello' 000000"], Res::Ok(ok));
    reply::<Read>(&["00002736"], Res::Fail(Status::OpenMode));
}

#[test]
fn write() {
    let ways =
        [(StableHow::Unstable, "00000000"), (StableHow::DataSync, "00000001"), (StableHow::FileSync, "00000002")];
    for (stable, word) in ways {
        arguments::<Write>(
            &[STATEID, "0000000000000200", word, "00000003 'abc' 00"],
            WriteArgs { stateid: STATEID_VALUE, offset: 512, stable, data: b"abc" },
        );
        reply::<Write>(
            &[OK, "00000003", word, VERIFIER],
            Res::Ok(WriteOk { count: 3, committed: stable, verifier: VERIFIER_VALUE }),
        );
    }
    reply::<Write>(&["0000001c"], Res::Fail(Status::NoSpc));
    bad::<StableHow>(&["00000003"]);
}

#[test]
fn readdir() {
    arguments::<Readdir>(
        &["0000000000000002", VERIFIER, "00000100 00001000", MASK],
        ReaddirArgs { cookie: 2, verifier: VERIFIER_VALUE, dir_count: 256, max_count: 4096, request: mask() },
    );
    let head = ReaddirHead { verifier: VERIFIER_VALUE };
    let entries = vec![
        DirEntry { cookie: 3, name: ETC, attributes: fattr() },
        DirEntry { cookie: 4, name: Component(b"x"), attributes: Fattr::EMPTY },
    ];
    reply::<Readdir>(
        &[
            OK,
            VERIFIER,
            YES,
            "0000000000000003",
            NAME,
            FATTR,
            YES,
            "0000000000000004 00000001 'x' 000000",
            NO_FATTR,
            NO,
            YES,
        ],
        Res::Ok(ReaddirOk { head, entries, eof: true }),
    );
    reply::<Readdir>(&[OK, VERIFIER, NO, NO], Res::Ok(ReaddirOk { head, entries: vec![], eof: false }));
    reply::<Readdir>(&["00002713"], Res::Fail(Status::BadCookie));
}

#[test]
fn readlink() {
    arguments::<Readlink>(&[], ());
    reply::<Readlink>(&[OK, "00000006 '../lib' 0000"], Res::Ok(ReadlinkOk { target: b"../lib" }));
    reply::<Readlink>(&["00000016"], Res::Fail(Status::Inval));
}

#[test]
fn remove_and_rename() {
    arguments::<Remove>(&[NAME], RemoveArgs { target: ETC });
    reply::<Remove>(&[OK, CHANGE], Res::Ok(CHANGE_VALUE));
    reply::<Remove>(&["00000042"], Res::Fail(Status::NotEmpty));
    arguments::<Rename>(&[NAME, "00000001 'x' 000000"], RenameArgs { old_name: ETC, new_name: Component(b"x") });
    let target = ChangeInfo { atomic: false, before: 1, after: 2 };
    reply::<Rename>(
        &[OK, CHANGE, NO, "0000000000000001 0000000000000002"],
        Res::Ok(RenameOk { source: CHANGE_VALUE, target }),
    );
    reply::<Rename>(&["00000012"], Res::Fail(Status::XDev));
}

#[test]
fn renew() {
    arguments::<Renew>(&[CLIENT], RenewArgs { client: CLIENT_VALUE });
    reply::<Renew>(&["00002740"], Res::Fail(Status::CbPathDown));
}

#[test]
fn secinfo() {
    arguments::<Secinfo>(&[NAME], SecinfoArgs { name: ETC });
    let gss = |service| {
        Flavor::Gss(GssFlavor { mechanism: Oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"), quality: 0, service })
    };
    let mechanism = "00000006 00000009 2a864886f712010202 000000 00000000";
    let flavors = vec![
        gss(GssService::Privacy),
        gss(GssService::Integrity),
        gss(GssService::None),
        Flavor::Plain(1),
        Flavor::Plain(390_003),
    ];
    reply::<Secinfo>(
        &[OK, "00000005", mechanism, "00000003", mechanism, "00000002", mechanism, "00000001 00000001 0005f373"],
        Res::Ok(SecinfoOk { flavors }),
    );
    reply::<Secinfo>(&["00000002"], Res::Fail(Status::NoEnt));
    bad::<Flavor<'_>>(&[mechanism, "00000004"]);
}

#[test]
fn setattr_tells_what_was_set_also_when_it_fails() {
    arguments::<Setattr>(&[STATEID, FATTR], SetattrArgs { stateid: STATEID_VALUE, attributes: fattr() });
    reply::<Setattr>(&[OK, MASK], SetattrReply { status: Status::Ok, attributes_set: mask() });
    reply::<Setattr>(
        &["00000001 00000001 00000010"],
        SetattrReply { status: Status::Perm, attributes_set: Bitmap::of(&[4]) },
    );
}

#[test]
fn setclientid() {
    let address = "00000003 'tcp' 00 0000000d '127.0.0.1.3.4' 000000";
    let location = NetAddr { netid: b"tcp", address: b"127.0.0.1.3.4" };
    arguments::<Setclientid>(
        &[VERIFIER, "00000004 'host' 40000000", address, "00000001"],
        SetclientidArgs {
            verifier: VERIFIER_VALUE,
            id: b"host",
            callback: CallbackClient { program: CALLBACK_PROGRAM, location },
            callback_ident: 1,
        },
    );
    reply::<Setclientid>(
        &[OK, CLIENT, VERIFIER],
        ResOr::Ok(SetclientidOk { client: CLIENT_VALUE, confirm: VERIFIER_VALUE }),
    );
    reply::<Setclientid>(&["00002721", address], ResOr::Explained(location));
    reply::<Setclientid>(&["00002722"], ResOr::Fail(Status::Resource));
    arguments::<SetclientidConfirm>(
        &[CLIENT, VERIFIER],
        SetclientidConfirmArgs { client: CLIENT_VALUE, confirm: VERIFIER_VALUE },
    );
    reply::<SetclientidConfirm>(&[OK], Res::Ok(()));
    reply::<SetclientidConfirm>(&["00002726"], Res::Fail(Status::StaleClientid));
}

#[test]
fn release_lockowner() {
    arguments::<ReleaseLockowner>(&[OWNER], ReleaseLockownerArgs { owner: OWNER_VALUE });
    reply::<ReleaseLockowner>(&["00002735"], Res::Fail(Status::LocksHeld));
}
