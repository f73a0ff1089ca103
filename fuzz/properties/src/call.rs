//! The header of a call.

use buffer::Buffer;
use rpc::{Call, CallError, CallResult, Credential, Rejection, Reply, Xid};
use xdr::Encoder;

/// A call with a credential that is understood comes back out of its encoding, and one of another version of RPC is
/// answered with the version that there is.
pub fn call(input: &[u8]) -> bool {
    match Call::parse(input) {
        Ok(call) => {
            assert!(call.arguments.rest().len() <= input.len());
            if let Some(Ok(credential)) = Credential::parse(&call.credential) {
                same_call_again(&call, &credential);
            }
            true
        }
        Err(CallError::WrongVersion { xid, version }) => {
            assert_ne!(version, rpc::RPC_VERSION);
            wrong_version_is_answered(xid);
            false
        }
        Err(CallError::NotACall(_) | CallError::Broken { .. }) => false,
    }
}

fn same_call_again(call: &Call<'_>, credential: &Credential<'_>) {
    let mut buffer = Buffer::new();
    call.procedure.encode_call(call.xid, credential, &mut Encoder::new(&mut buffer));
    buffer.put(call.arguments.rest());
    let again = Call::parse(buffer.as_slice()).expect("an encoded call is one");
    assert_eq!((again.xid, again.procedure), (call.xid, call.procedure));
    assert_eq!(Credential::parse(&again.credential), Some(Ok(*credential)));
    assert_eq!(again.arguments.rest(), call.arguments.rest());
}

fn wrong_version_is_answered(xid: Xid) {
    let mut buffer = Buffer::new();
    Reply::encode_wrong_version(xid, &mut Encoder::new(&mut buffer));
    let reply = Reply::parse(buffer.as_slice()).expect("an encoded reply is one");
    let expected = Rejection::RpcMismatch { low: rpc::RPC_VERSION, high: rpc::RPC_VERSION };
    assert_eq!(reply.xid, xid);
    assert!(matches!(reply.outcome, CallResult::Rejected(found) if found == expected));
}
