//! A security flavour that wraps arguments and results, through single calls and runs of WRITEs.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use buffer::{Buffer, Output};
use fs_fault::{FaultFs, FaultPlan};
use proto::nfs3::{FileHandle, Getattr, GetattrArgs, Read, ReadArgs, StableHow, Write, WriteArgs};
use proto::nfs4::{Attribute, Getattr as Getattr4, GetattrArgs as Getattr4Args};
use rpc::{AuthStat, AuthSys, Call, Credential, Flavor, OpaqueAuth, Rejection};
use server::{Answer, EntryRefusal, Request, RunAnswer, SecuredReply, SecurityFlavor, Server, Unwrapped};
use vfs::FileSystem;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::replay::{calls, is_success};
use super::sendfile::Memory;
use testing::caller::nfs3::success;
use testing::caller::{Caller, EXPORT, Said, export, memory, rejection, results, server};
use testing::compound::{COMPOUND, Compound, Results};
use testing::session::Session;

const FLAVOR: Flavor = Flavor(390_777);
const PROOF: OpaqueAuth<'static> = OpaqueAuth { flavor: FLAVOR, body: b"call" };
/// Of a reply: the bytes before its verifier, and those of the verifier.
const VERIFIER_AT: usize = 12;
const VERIFIER_BYTES: usize = 12;

/// A flavour whose arguments and results are in disguise. A credential is a sequence number, which counts once.
#[derive(Debug, Default)]
struct Masked {
    used: Arc<Mutex<HashSet<u32>>>,
}

#[derive(Debug)]
struct MaskedReply {
    used: Arc<Mutex<HashSet<u32>>>,
    sequence: [u8; 4],
}

impl SecurityFlavor for Masked {
    fn flavor(&self) -> Flavor {
        FLAVOR
    }

    fn enter(&self, message: &[u8], call: &Call<'_>) -> Result<Unwrapped, EntryRefusal> {
        assert!(message.ends_with(call.arguments.rest()));
        let sequence = Decoder::new(call.credential.body).u32().unwrap();
        if call.verifier != PROOF {
            return Err(EntryRefusal::Refused(AuthStat::BadVerifier));
        }
        if !self.used.lock().unwrap().insert(sequence) {
            return Err(EntryRefusal::Dropped);
        }
        Ok(Unwrapped {
            credential: Credential::Sys(AuthSys::new(b"", 0, 0, &[])),
            arguments: masked(call.arguments.rest()),
            reply: Box::new(MaskedReply { used: self.used.clone(), sequence: sequence.to_be_bytes() }),
        })
    }
}

impl SecuredReply for MaskedReply {
    fn verifier(&self) -> OpaqueAuth<'_> {
        OpaqueAuth { flavor: FLAVOR, body: &self.sequence }
    }

    fn wrap(&self, results: &[u8]) -> Vec<u8> {
        [&self.sequence, &masked(results)[..]].concat()
    }

    fn deferred(&self) {
        assert!(self.used.lock().unwrap().remove(&u32::from_be_bytes(self.sequence)));
    }
}

fn masked(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ 0x5a).collect()
}

/// The same call, wrapped under a sequence number.
fn wrap(message: &[u8], sequence: u32) -> Vec<u8> {
    let call = Call::parse(message).unwrap();
    let mut buffer = Buffer::new();
    call.procedure.encode_call(call.xid, &Credential::None, &mut Encoder::new(&mut buffer));
    buffer.truncate(buffer.len() - 16);
    let mut to = Encoder::new(&mut buffer);
    OpaqueAuth { flavor: FLAVOR, body: &sequence.to_be_bytes() }.encode(&mut to);
    PROOF.encode(&mut to);
    [buffer.as_slice(), &masked(call.arguments.rest())].concat()
}

/// The plain reply in one that was wrapped under a sequence number.
fn unwrap(reply: &[u8], sequence: u32) -> &'static [u8] {
    let (head, rest) = reply.split_at(VERIFIER_AT);
    let (verifier, rest) = rest.split_at(VERIFIER_BYTES);
    let expected = OpaqueAuth { flavor: FLAVOR, body: &sequence.to_be_bytes() };
    assert_eq!(OpaqueAuth::decode(&mut Decoder::new(verifier)), Ok(expected));
    let (status, wrapped) = rest.split_at(4);
    let results = wrapped.strip_prefix(&sequence.to_be_bytes()).expect("the results are wrapped");
    [head, &[0; 8], status, &masked(results)].concat().leak()
}

fn with_masks(files: Arc<dyn FileSystem>) -> Server {
    let mut server = server(vec![export(EXPORT, files)]);
    server.add_security(Box::new(Masked::default()));
    server
}

/// Sends a message wrapped, and returns the plain reply.
fn exchange(caller: &Caller<'_>, message: &[u8], sequence: u32) -> &'static [u8] {
    unwrap(&caller.reply_to(&wrap(message, sequence)), sequence)
}

#[test]
fn wrapped_call_has_the_same_results_as_a_plain_one_and_its_bytes_are_not_on_the_wire() {
    let server = with_masks(memory());
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let message = caller.message::<Getattr>(&GetattrArgs { object: file });
    let plain = caller.reply_to(&message);
    assert_eq!(exchange(&caller, &message, 1), plain);
    let results = &plain[24..];
    assert!(!caller.reply_to(&wrap(&message, 2)).windows(results.len()).any(|part| part == results));
}

#[test]
fn call_with_a_wrong_verifier_is_refused_and_one_with_a_used_number_is_dropped() {
    let server = with_masks(memory());
    let caller = Caller::root(&server);
    let message = wrap(&caller.message::<Getattr>(&GetattrArgs { object: caller.mount() }), 1);
    let at = message.windows(4).position(|part| part == PROOF.body).unwrap();
    let mut forged = message.clone();
    forged[at] ^= 1;
    assert_eq!(rejection(&caller.reply_to(&forged)), Rejection::AuthError(AuthStat::BadVerifier));
    assert!(matches!(caller.send(&message), Said::Reply(_)));
    assert!(matches!(caller.send(&message), Said::Nothing(Answer::Silent)));
}

#[test]
fn flavor_that_was_not_added_is_too_weak() {
    let server = server(vec![export(EXPORT, memory())]);
    let caller = Caller::root(&server);
    let message = caller.message::<Getattr>(&GetattrArgs { object: caller.mount() });
    assert_eq!(rejection(&caller.reply_to(&wrap(&message, 1))), Rejection::AuthError(AuthStat::TooWeak));
}

#[test]
fn arguments_that_make_no_sense_once_unwrapped_are_rejected_under_the_flavors_verifier() {
    let server = with_masks(memory());
    let caller = Caller::root(&server);
    let message = caller.message::<Getattr>(&GetattrArgs { object: caller.mount() });
    let cut_off = &message[..message.len() - 4];
    let reply = caller.reply_to(&wrap(cut_off, 7));
    assert_eq!(rejection(&reply), Rejection::GarbageArguments);
    let verifier = OpaqueAuth::decode(&mut Decoder::new(&reply[VERIFIER_AT..])).unwrap();
    assert_eq!((verifier.flavor, verifier.body), (FLAVOR, &7u32.to_be_bytes()[..]));
}

#[test]
fn deferred_call_enters_again_under_the_same_number() {
    let rules = vec!["any:wouldblock@1".parse().unwrap()];
    let server = with_masks(Arc::new(FaultFs::new(memory(), FaultPlan::new(rules))));
    let caller = Caller::root(&server);
    let message = wrap(&caller.message::<Getattr>(&GetattrArgs { object: caller.mount() }), 1);
    assert!(matches!(caller.on_event_loop().send(&message), Said::Nothing(Answer::WouldBlock(_))));
    assert!(is_success(unwrap(&caller.reply_to(&message), 1)));
}

/// A retransmission is wrapped again, under a new number (RFC 2203 §5.3.3.1).
#[test]
fn retransmission_that_is_wrapped_anew_is_not_carried_out_again() {
    let server = with_masks(memory());
    let caller = Caller::root(&server);
    for (index, (name, message)) in (1..).step_by(2).zip(calls(&caller, &caller.mount())) {
        let first = exchange(&caller, &message, index);
        assert!(is_success(first), "{name}");
        assert_eq!(exchange(&caller.later(1), &message, index + 1), first, "{name}");
    }
    assert_eq!(server.counters().replayed(), 8);
}

#[test]
fn session_slot_recognizes_a_retransmission_that_is_wrapped_anew() {
    let server = with_masks(memory());
    let caller = Caller::root(&server);
    let session = Session::new(caller, 1);
    let request = Attribute::set(&[Attribute::Change]);
    let compound = session.begin().root().op::<Getattr4>(&Getattr4Args { request });
    let message = caller.message_of(COMPOUND, &compound);
    let first = exchange(&caller, &message, 1);
    assert_eq!(Results::parse(first).status, proto::nfs4::Status::Ok);
    // The file system changes in between: a second execution would report it.
    caller.make_file(&caller.mount(), "file");
    assert_eq!(exchange(&caller, &message, 2), first);
    assert_ne!(exchange(&caller, &caller.message_of(COMPOUND, &again(&session)), 3), first);
}

fn again(session: &Session<'_>) -> Compound {
    session.begin().root().op::<Getattr4>(&Getattr4Args { request: Attribute::set(&[Attribute::Change]) })
}

#[test]
fn wrapped_read_is_copied_and_not_sent_from_the_file() {
    let Some(directory) = Memory::new("wrapped") else { return };
    let mut server = directory.serve(Some(16));
    server.add_security(Box::new(Masked::default()));
    let caller = Caller::root(&server);
    let file = caller.handle_of(&caller.mount(), "file");
    let message = caller.message::<Read>(&ReadArgs { file, offset: 0, count: 50_000 });
    let read = success(results::<Read>(exchange(&caller, &message, 1)));
    assert_eq!(read.data, vec![7; 50_000]);
}

fn write(file: &FileHandle, offset: u64, data: &'static [u8]) -> WriteArgs<'static> {
    WriteArgs { file: *file, offset, count: data.len() as u32, stable: StableHow::Unstable, data }
}

/// Sends WRITEs wrapped, as they come over a connection in one receive; says how many of them ran as one, and the plain
/// replies to all.
fn send_run(caller: &Caller<'_>, writes: &[WriteArgs<'_>]) -> (usize, Vec<&'static [u8]>) {
    let messages: Vec<Vec<u8>> =
        (1..).zip(writes).map(|(sequence, write)| wrap(&caller.message::<Write>(write), sequence)).collect();
    let run: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    assert!(caller.server.begins_run(run[0]));
    assert!(run.windows(2).all(|pair| caller.server.continues_run(pair[0], pair[1])));
    let Caller { peer, may_block, now, batch, is_scarce, .. } = *caller;
    let request = Request { message: run[0], peer, worker: 0, may_block, now, batch, is_scarce };
    let written = match caller.server.write_run(&request, &run) {
        RunAnswer::Written(written) => Some(written),
        RunAnswer::OneByOne => None,
        RunAnswer::WouldBlock(_) => panic!("the run was deferred"),
    };
    let count = written.as_ref().map_or(0, |written| written.count());
    let reply = |index: usize| {
        let Some(written) = written.as_ref().filter(|_| index < count) else { return caller.reply_to(run[index]) };
        let mut output = Output::new();
        written.answer(index, &mut output);
        output.bytes.as_slice().to_vec()
    };
    (count, (0..run.len()).map(|index| unwrap(&reply(index), index as u32 + 1)).collect())
}

fn counts(replies: &[&'static [u8]]) -> Vec<u32> {
    replies.iter().map(|reply| success(results::<Write>(reply)).count).collect()
}

#[test]
fn wrapped_writes_that_are_adjacent_run_as_one() {
    let server = with_masks(memory());
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let (together, replies) =
        send_run(&caller, &[write(&file, 0, b"one"), write(&file, 3, b"three"), write(&file, 8, b"x")]);
    assert_eq!((together, counts(&replies)), (3, vec![3, 5, 1]));
    assert_eq!(success(caller.read(&file, 0, 100)).data, b"onethreex");
}

/// Only the unwrapped arguments show whether one WRITE continues another. The others then enter again.
#[test]
fn wrapped_writes_that_are_not_adjacent_or_of_another_file_run_one_by_one() {
    let server = with_masks(memory());
    let caller = Caller::root(&server);
    let root = caller.mount();
    let (file, other) = (caller.make_file(&root, "file"), caller.make_file(&root, "other"));
    let (together, replies) =
        send_run(&caller, &[write(&file, 0, b"one"), write(&other, 3, b"two"), write(&file, 3, b"six")]);
    assert_eq!((together, counts(&replies)), (1, vec![3, 3, 3]));
    assert_eq!(success(caller.read(&file, 0, 100)).data, b"onesix");
    assert_eq!(success(caller.read(&other, 0, 100)).data, b"\0\0\0two");
}

#[test]
fn wrapped_run_that_fails_enters_again_write_by_write() {
    let rules = vec!["write:error=io@1".parse().unwrap()];
    let server = with_masks(Arc::new(FaultFs::new(memory(), FaultPlan::new(rules))));
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let (together, replies) = send_run(&caller, &[write(&file, 0, b"one"), write(&file, 3, b"two")]);
    assert_eq!((together, counts(&replies)), (0, vec![3, 3]));
}
