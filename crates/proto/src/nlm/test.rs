//! TEST tests whether a lock would be granted (RFC 1813 appendix II).

use std::marker::PhantomData;

use xdr::{Decode, Decoder, Encode, Encoder};

use super::{Holder, NetObj, PROGRAM, Range, Status, Version};
use crate::Operation;

/// The arguments of TEST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct TestArgs<'a, O> {
    /// The reply repeats it.
    pub cookie: NetObj<'a>,
    /// Whether the lock is for writing.
    pub exclusive: bool,
    /// The lock.
    pub lock: Range<'a, O>,
}

/// The results of TEST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct TestOk<'a, O> {
    /// The cookie of the call.
    pub cookie: NetObj<'a>,
    /// The result.
    pub reply: TestReply<'a, O>,
}

/// Whether the lock would be granted (`nlm_testrply` and `nlm4_testrply`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestReply<'a, O> {
    /// This lock conflicts.
    Denied(Holder<'a, O>),
    /// It would be, or the server cannot say; the status is never [`Status::Denied`].
    Other(Status),
}

impl<O: Encode> Encode for TestReply<'_, O> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            TestReply::Denied(holder) => {
                Status::Denied.encode(to);
                holder.encode(to);
            }
            TestReply::Other(status) => status.encode(to),
        }
    }
}

impl<'a, O: Decode<'a>> Decode<'a> for TestReply<'a, O> {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(match Status::decode(from)? {
            Status::Denied => TestReply::Denied(Holder::decode(from)?),
            status => TestReply::Other(status),
        })
    }
}

/// TEST tests whether a lock would be granted.
#[derive(Debug, Clone, Copy)]
pub struct Test<V>(PhantomData<V>);

/// TEST_MSG is its asynchronous form, answered by a call of TEST_RES.
#[derive(Debug, Clone, Copy)]
pub struct TestMsg<V>(PhantomData<V>);

/// TEST_RES answers TEST_MSG.
#[derive(Debug, Clone, Copy)]
pub struct TestRes<V>(PhantomData<V>);

impl<V: Version> Operation for Test<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "TEST";
    type Arguments<'a> = TestArgs<'a, V::Offset>;
    type Reply<'a> = TestOk<'a, V::Offset>;
}

impl<V: Version> Operation for TestMsg<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 6;
    const NAME: &'static str = "TEST_MSG";
    type Arguments<'a> = TestArgs<'a, V::Offset>;
    type Reply<'a> = ();
}

impl<V: Version> Operation for TestRes<V> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = V::NUMBER;
    const PROCEDURE: u32 = 11;
    const NAME: &'static str = "TEST_RES";
    type Arguments<'a> = TestOk<'a, V::Offset>;
    type Reply<'a> = ();
}
