//! The header of a reply.

use buffer::Buffer;
use rpc::{CallResult, Reply};
use xdr::Encoder;

/// A reply says the same after it was encoded again; only its verifier is lost.
pub fn reply(input: &[u8]) -> bool {
    let Ok(reply) = Reply::parse(input) else { return false };
    let mut buffer = Buffer::new();
    let to = &mut Encoder::new(&mut buffer);
    match &reply.outcome {
        CallResult::Success(results) => {
            assert!(results.rest().len() <= input.len());
            Reply::encode_success(reply.xid, to);
            to.buffer().put(results.rest());
        }
        CallResult::Rejected(rejection) => Reply::encode_rejection(reply.xid, *rejection, to),
    }
    let again = Reply::parse(buffer.as_slice()).expect("an encoded reply is one");
    assert_eq!(again.xid, reply.xid);
    assert_same_outcome(&again.outcome, &reply.outcome);
    true
}

fn assert_same_outcome(again: &CallResult<'_>, first: &CallResult<'_>) {
    match (again, first) {
        (CallResult::Success(again), CallResult::Success(first)) => assert_eq!(again.rest(), first.rest()),
        (CallResult::Rejected(again), CallResult::Rejected(first)) => assert_eq!(again, first),
        _ => panic!("{first:?} came back as {again:?}"),
    }
}
