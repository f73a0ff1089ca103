//! NFS version 4: minor version 0 (RFC 7531), 1 (RFC 5662) and 2 (RFC 7863), and extended attributes (RFC 8276).

mod attributes;
mod callback;
mod compound;
mod limits;
mod v0;
mod v1;
mod v2;

use std::fmt::Debug;

use buffer::Buffer;
use proto::nfs4::*;
use xdr::{Decode, Decoder, Encode, Encoder};

use crate::vectors::vector::{both_ways, wire};

const OK: &str = "00000000";
const YES: &str = "00000001";
const NO: &str = "00000000";
/// NFS4ERR_STALE, NFS4ERR_DELAY and NFS4ERR_BAD_STATEID.
const STALE: &str = "00000046";
const DELAY: &str = "00002718";
const BAD_STATEID: &str = "00002729";

/// A handle of five bytes.
const HANDLE: &str = "00000005 6162636465 000000";
/// The name `etc`.
const NAME: &str = "00000003 'etc' 00";
const ETC: Component<'static> = Component(b"etc");
const STATEID: &str = "00000007 0102030405060708090a0b0c";
const STATEID_VALUE: Stateid = Stateid { seqid: 7, other: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] };
/// Another stateid.
const STATEID_2: &str = "00000001 f1f2f3f4f5f6f7f8f9fafbfc";
const STATEID_2_VALUE: Stateid =
    Stateid { seqid: 1, other: [0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc] };
const VERIFIER: &str = "0807060504030201";
const VERIFIER_VALUE: Verifier = [8, 7, 6, 5, 4, 3, 2, 1];
const SESSION: &str = "101112131415161718191a1b1c1d1e1f";
const SESSION_VALUE: SessionId =
    SessionId([0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f]);
const CLIENT: &str = "1122334455667788";
const CLIENT_VALUE: ClientId = ClientId(0x1122_3344_5566_7788);
/// A client and the owner `pid 1`.
const OWNER: &str = "1122334455667788 00000005 'pid 1' 000000";
const OWNER_VALUE: StateOwner<'static> = StateOwner { client: CLIENT_VALUE, owner: b"pid 1" };
/// An atomic change from 5 to 6.
const CHANGE: &str = "00000001 0000000000000005 0000000000000006";
const CHANGE_VALUE: ChangeInfo = ChangeInfo { atomic: true, before: 5, after: 6 };
/// The attributes 4 (size) and 33 (mode).
const MASK: &str = "00000002 00000010 00000002";
/// Those with their values, 4096 and 0644.
const FATTR: &str = "00000002 00000010 00000002 0000000c 0000000000001000 000001a4";
const FATTR_BYTES: &[u8] = b"\0\0\0\0\0\0\x10\0\0\0\x01\xa4";
const NO_FATTR: &str = "00000000 00000000";
/// An offset of 2^32 and a length of 4096.
const RANGE: &str = "0000000100000000 0000000000001000";
/// Three seconds and four nanoseconds.
const TIME: &str = "0000000000000003 00000004";
const TIME_VALUE: Time = Time { seconds: 3, nanoseconds: 4 };

fn handle() -> FileHandle {
    FileHandle::new(b"abcde").expect("five bytes are no more than 128")
}

fn mask() -> Bitmap {
    Bitmap::of(&[4, 33])
}

fn fattr() -> Fattr<'static> {
    Fattr { mask: mask(), values: FATTR_BYTES }
}

/// Shows that the parts are the arguments `value` of the operation, also behind its number.
fn arguments<O: CompoundOperation>(parts: &[&str], value: O::Arguments<'static>)
where
    O::Arguments<'static>: PartialEq + Debug,
{
    let bytes = leaked(wire(parts));
    both_ways(O::NUMBER.name(), bytes, value);
    in_union::<ArgOp<'static>>(O::NUMBER.number(), bytes);
}

/// Shows that the parts are the reply `value` of the operation, also behind its number.
fn reply<O: CompoundOperation>(parts: &[&str], value: O::Reply<'static>)
where
    O::Reply<'static>: PartialEq + Debug,
{
    let bytes = leaked(wire(parts));
    both_ways(O::NUMBER.name(), bytes, value);
    in_union::<ResOp<'static>>(O::NUMBER.number(), bytes);
}

/// Shows that the operation's number and `bytes` are one value of a union, that all bytes are needed, and that it comes
/// out again.
fn in_union<T: Encode + Decode<'static>>(number: u32, bytes: &[u8]) {
    let message = leaked([&number.to_be_bytes(), bytes].concat());
    let mut from = Decoder::new(message);
    let value = T::decode(&mut from).unwrap_or_else(|error| panic!("operation {number}: {error}"));
    assert_eq!(from.rest(), b"", "operation {number} leaves nothing");
    let mut buffer = Buffer::new();
    value.encode(&mut Encoder::new(&mut buffer));
    assert_eq!(buffer.as_slice(), message, "operation {number}");
}

/// A vector that lives as long as the test: the values borrow from it.
fn leaked(bytes: Vec<u8>) -> &'static [u8] {
    bytes.leak()
}

/// Shows that the parts hold a value that a type cannot have.
fn bad<T: Decode<'static> + Debug>(parts: &[&str]) {
    let result = T::decode(&mut Decoder::new(leaked(wire(parts))));
    assert!(matches!(result, Err(xdr::Error::BadValue { .. })), "{result:?}");
}

/// Shows that the parts, which end right behind a length, are refused for it.
fn too_long<T: Decode<'static>>(parts: &[&str], max: usize) {
    crate::vectors::vector::too_long::<T>(std::any::type_name::<T>(), leaked(wire(parts)), max);
}
