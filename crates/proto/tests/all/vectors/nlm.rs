//! The lock manager: versions 1 and 3 with offsets of 32 bits, version 4 (RFC 1813 appendix II) with 64.

use std::fmt::Debug;

use proto::nlm::*;

use crate::vectors::vector::{
    arguments, arguments_bad, arguments_too_long, identity, reply, reply_bad, reply_too_long, wire,
};

const YES: &str = "00000001";
const NO: &str = "00000000";
/// The cookie `ck`.
const COOKIE: &str = "00000002 'ck' 0000";
const COOKIE_VALUE: NetObj<'static> = NetObj(b"ck");
/// A lock of the owner `me`, process -1, of `host` on the handle `abcde`, without its range.
const LOCK: &str = "00000004 'host' 00000005 6162636465 000000 00000002 'me' 0000 ffffffff";
/// From 16 on 256 bytes, in 32 and in 64 bits.
const SHORT_RANGE: &str = "00000010 00000100";
const LONG_RANGE: &str = "0000000000000010 0000000000000100";
const GRANTED: &str = "00000000";
const DENIED: &str = "00000001";

fn lock<O>(offset: O, length: O) -> Range<'static, O> {
    Range { caller_name: b"host", file: NetObj(b"abcde"), owner: NetObj(b"me"), svid: -1, offset, length }
}

/// An owner `x`, process 7, who writes.
const HOLDER: &str = "00000001 00000007 00000001 'x' 000000";

fn holder<O>(offset: O, length: O) -> Holder<'static, O> {
    Holder { exclusive: true, svid: 7, owner: NetObj(b"x"), offset, length }
}

/// Shows how a version's procedures read with locks whose range has the form `range`.
fn ranges<V: Version>(range: &str, offset: V::Offset, length: V::Offset)
where
    V::Offset: Debug,
{
    let lock = lock(offset, length);
    let test = TestArgs { cookie: COOKIE_VALUE, exclusive: true, lock };
    let bytes = wire(&[COOKIE, YES, LOCK, range]);
    arguments::<Test<V>>(&bytes, test);
    arguments::<TestMsg<V>>(&bytes, test);
    arguments::<Granted<V>>(&bytes, test);
    arguments::<GrantedMsg<V>>(&bytes, test);
    let args = LockArgs { cookie: COOKIE_VALUE, block: true, exclusive: false, lock, reclaim: true, state: 3 };
    let bytes = wire(&[COOKIE, YES, NO, LOCK, range, YES, "00000003"]);
    arguments::<Lock<V>>(&bytes, args);
    arguments::<LockMsg<V>>(&bytes, args);
    arguments::<NmLock<V>>(&bytes, args);
    let args = CancelArgs { cookie: COOKIE_VALUE, block: false, exclusive: true, lock };
    let bytes = wire(&[COOKIE, NO, YES, LOCK, range]);
    arguments::<Cancel<V>>(&bytes, args);
    arguments::<CancelMsg<V>>(&bytes, args);
    let args = UnlockArgs { cookie: COOKIE_VALUE, lock };
    let bytes = wire(&[COOKIE, LOCK, range]);
    arguments::<Unlock<V>>(&bytes, args);
    arguments::<UnlockMsg<V>>(&bytes, args);
    let denied = TestOk { cookie: COOKIE_VALUE, reply: TestReply::Denied(holder(offset, length)) };
    let bytes = wire(&[COOKIE, DENIED, HOLDER, range]);
    reply::<Test<V>>(&bytes, denied);
    arguments::<TestRes<V>>(&bytes, denied);
    let granted = TestOk { cookie: COOKIE_VALUE, reply: TestReply::Other(Status::Granted) };
    reply::<Test<V>>(&wire(&[COOKIE, GRANTED]), granted);
}

#[test]
fn ranges_of_versions_1_and_3_have_32_bits() {
    ranges::<V1>(SHORT_RANGE, 16, 256);
    ranges::<V3>(SHORT_RANGE, 16, 256);
}

#[test]
fn ranges_of_version_4_have_64_bits() {
    ranges::<V4>(LONG_RANGE, 16, 256);
}

#[test]
fn every_status_has_its_number() {
    let statuses = [
        Status::Granted,
        Status::Denied,
        Status::DeniedNoLocks,
        Status::Blocked,
        Status::DeniedGracePeriod,
        Status::Deadlock,
        Status::RoFs,
        Status::StaleFh,
        Status::FBig,
        Status::Failed,
    ];
    for (number, status) in (0..).zip(statuses) {
        let bytes = wire(&[COOKIE, &format!("{number:08x}")]);
        let res = Res { cookie: COOKIE_VALUE, status };
        reply::<Lock<V4>>(&bytes, res);
        reply::<Cancel<V4>>(&bytes, res);
        reply::<Unlock<V1>>(&bytes, res);
        reply::<Granted<V3>>(&bytes, res);
        reply::<NmLock<V4>>(&bytes, res);
        arguments::<LockRes<V4>>(&bytes, res);
        arguments::<CancelRes<V4>>(&bytes, res);
        arguments::<UnlockRes<V4>>(&bytes, res);
        arguments::<GrantedRes<V4>>(&bytes, res);
    }
    reply_bad::<Lock<V4>>(&wire(&[COOKIE, "0000000a"]));
}

#[test]
fn messages_are_not_answered() {
    reply::<TestMsg<V4>>(b"", ());
    reply::<LockMsg<V4>>(b"", ());
    reply::<CancelMsg<V4>>(b"", ());
    reply::<UnlockMsg<V4>>(b"", ());
    reply::<GrantedMsg<V4>>(b"", ());
    reply::<TestRes<V4>>(b"", ());
    reply::<LockRes<V4>>(b"", ());
    reply::<CancelRes<V4>>(b"", ());
    reply::<UnlockRes<V4>>(b"", ());
    reply::<GrantedRes<V4>>(b"", ());
    arguments::<Null<V4>>(b"", ());
    reply::<Null<V1>>(b"", ());
}

#[test]
fn share_and_unshare() {
    const OWNER: &str = "00000004 'host' 00000005 6162636465 000000 00000002 'me' 0000";
    let modes = [ShareMode::DenyNone, ShareMode::DenyRead, ShareMode::DenyWrite, ShareMode::DenyBoth];
    let accesses = [ShareAccess::None, ShareAccess::Read, ShareAccess::Write, ShareAccess::Both];
    for (number, (mode, access)) in (0..).zip(modes.into_iter().zip(accesses)) {
        let word = format!("{number:08x}");
        let (file, owner) = (NetObj(b"abcde"), NetObj(b"me"));
        let share = ShareReservation { caller_name: b"host", file, owner, mode, access };
        let args = ShareArgs { cookie: COOKIE_VALUE, share, reclaim: false };
        let bytes = wire(&[COOKIE, OWNER, &word, &word, NO]);
        arguments::<Share<V3>>(&bytes, args);
        arguments::<Unshare<V4>>(&bytes, args);
    }
    arguments_bad::<Share<V4>>(&wire(&[COOKIE, OWNER, "00000004"]));
    arguments_bad::<Share<V4>>(&wire(&[COOKIE, OWNER, "00000000 00000004"]));
    let ok = ShareOk { cookie: COOKIE_VALUE, status: Status::DeniedGracePeriod, sequence: -2 };
    let bytes = wire(&[COOKIE, "00000004 fffffffe"]);
    reply::<Share<V4>>(&bytes, ok);
    reply::<Unshare<V3>>(&bytes, ok);
}

#[test]
fn free_all() {
    arguments::<FreeAll<V4>>(&wire(&["00000004 'host' 00000005"]), FreeAllArgs { name: b"host", state: 5 });
    reply::<FreeAll<V3>>(b"", ());
}

#[test]
fn procedures_have_the_numbers_of_the_rfc() {
    let all = [
        identity::<Null<V4>>(),
        identity::<Test<V4>>(),
        identity::<Lock<V4>>(),
        identity::<Cancel<V4>>(),
        identity::<Unlock<V4>>(),
        identity::<Granted<V4>>(),
        identity::<TestMsg<V4>>(),
        identity::<LockMsg<V4>>(),
        identity::<CancelMsg<V4>>(),
        identity::<UnlockMsg<V4>>(),
        identity::<GrantedMsg<V4>>(),
        identity::<TestRes<V4>>(),
        identity::<LockRes<V4>>(),
        identity::<CancelRes<V4>>(),
        identity::<UnlockRes<V4>>(),
        identity::<GrantedRes<V4>>(),
        identity::<Share<V4>>(),
        identity::<Unshare<V4>>(),
        identity::<NmLock<V4>>(),
        identity::<FreeAll<V4>>(),
    ];
    let named = (0..).zip(PROCEDURES).filter_map(|(number, name)| Some((100_021, 4, number, name?)));
    assert_eq!(all.to_vec(), named.collect::<Vec<_>>());
    assert_eq!(identity::<Lock<V1>>(), (100_021, 1, 2, "LOCK"));
    assert_eq!(identity::<Lock<V3>>(), (100_021, 3, 2, "LOCK"));
}

#[test]
fn lengths_over_the_limits_are_refused() {
    arguments_too_long::<Test<V4>>(&wire(&["00000401"]), MAX_NETOBJ_BYTES);
    arguments_too_long::<Test<V4>>(&wire(&[COOKIE, YES, "00000401"]), MAX_CALLER_NAME_BYTES);
    arguments_too_long::<Share<V4>>(&wire(&[COOKIE, "00000401"]), MAX_CALLER_NAME_BYTES);
    arguments_too_long::<FreeAll<V4>>(&wire(&["00000402"]), MAX_NAME_BYTES);
    reply_too_long::<Lock<V4>>(&wire(&["00000401"]), MAX_NETOBJ_BYTES);
}
