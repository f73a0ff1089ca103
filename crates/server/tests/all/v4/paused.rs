//! A COMPOUND that comes to an operation which has to wait goes on where it stopped.

use std::sync::Arc;

use fs_fault::{Fault, FaultFs, FaultPlan, Operation, Rule};
use proto::nfs4::{
    Component, Create, CreateArgs, CreateType, Fattr, Getfh, Open, Remove, RemoveArgs, Sequence, Status,
};
use server::{Answer, Server};

use crate::v4::client40::Client40;
use testing::caller::{Caller, EXPORT, Said, export, memory, server};
use testing::compound::{COMPOUND, Compound, Results, failure, success};
use testing::session::Session;

/// A server whose file system must wait for `operation`.
fn waiting_for(operation: Operation) -> (Server, FaultPlan) {
    let plan = FaultPlan::new(vec![Rule::new(operation, Fault::WouldBlock)]);
    (server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), plan.clone())))]), plan)
}

/// Sends a message from an event loop, where it has to wait, and then from a thread that may.
fn put_off(caller: Caller<'_>, message: &[u8]) -> Results {
    match caller.on_event_loop().send(message) {
        Said::Nothing(Answer::WouldBlock(_)) => {}
        other => panic!("{other:?}"),
    }
    Results::parse(&caller.reply_to(message))
}

fn make_and_remove(compound: Compound) -> Compound {
    let directory = CreateArgs { kind: CreateType::Directory, name: Component(b"new"), attributes: Fattr::EMPTY };
    compound.root().op::<Create>(&directory).root().op::<Remove>(&RemoveArgs { target: Component(b"new") })
}

#[test]
fn compound_goes_on_behind_what_it_changed_and_changes_nothing_twice() {
    let (server, plan) = waiting_for(Operation::RemoveDir);
    let caller = Caller::root(&server);
    let mut results = put_off(caller, &caller.message_of(COMPOUND, &make_and_remove(Compound::new(0))));
    success(results.skip_root().take::<Create>());
    success(results.skip_root().take::<Remove>());
    results.end();
    assert_eq!(plan.calls(Operation::MakeNode), 1);
}

#[test]
fn compound_of_a_session_keeps_its_slot_while_it_waits_and_its_reply_afterwards() {
    let (server, plan) = waiting_for(Operation::RemoveDir);
    let session = Session::new(Caller::root(&server), 1);
    let message = session.caller.message_of(COMPOUND, &make_and_remove(session.begin()));
    let mut results = put_off(session.caller, &message);
    success(results.take::<Sequence>());
    success(results.skip_root().take::<Create>());
    success(results.skip_root().take::<Remove>());
    let mut again = Results::parse(&session.caller.reply_to(&message));
    success(again.take::<Sequence>());
    success(again.skip_root().take::<Create>());
    assert_eq!(plan.calls(Operation::MakeNode), 1);
}

#[test]
fn numbered_operation_that_waits_has_its_number_only_once() {
    let (server, plan) = waiting_for(Operation::Create);
    let client = Client40::new(Caller::root(&server));
    let message = client.caller.message_of(COMPOUND, &client.opening(&client.open("owner", 1, "f")));
    let mut results = put_off(client.caller, &message);
    let opened = success(results.skip_root().take::<Open>());
    success(results.take::<Getfh>());
    let mut again = Results::parse(&client.caller.reply_to(&message));
    assert_eq!(success(again.skip_root().take::<Open>()), opened);
    assert_eq!(plan.injected(), 1);
}

#[test]
fn compound_that_changed_nothing_runs_from_its_start() {
    let (server, plan) = waiting_for(Operation::Lookup);
    let caller = Caller::root(&server);
    let compound = Compound::new(0).root().lookup("absent");
    let mut results = put_off(caller, &caller.message_of(COMPOUND, &compound));
    assert_eq!(failure(results.skip_root().take::<proto::nfs4::Lookup>()), Status::NoEnt);
    assert_eq!(plan.injected(), 1);
}
