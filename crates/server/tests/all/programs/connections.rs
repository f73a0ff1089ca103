//! Several processes behind one address may send calls of the same bytes: a call over another connection is a
//! retransmission only if the first connection may have lost the reply.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use fs_fault::{FaultFs, FaultPlan};
use proto::nfs2;
use server::{Answer, Connections, Delivery, Server};

use crate::programs::replay::{calls, is_success};
use testing::caller::nfs2::{Caller2, at as at2, mode as mode2};
use testing::caller::{Caller, EXPORT, Said, export, memory, memory_server, server, settings};

/// The process that sends first has connection 1, the other one 2.
const OTHER: u64 = 2;

/// All connections are like this.
struct Are(Delivery);

impl Connections for Are {
    fn delivery(&self, _: u64, _: Duration) -> Delivery {
        self.0
    }

    fn count(&self) -> usize {
        1
    }
}

/// A server whose pauses take no time.
fn server_whose_connections_are(delivery: Delivery) -> Server {
    let mut settings = settings();
    settings.pause = |_| {};
    let server = Server::new(settings, vec![export(EXPORT, memory())]).unwrap();
    server.watch_connections(Box::new(Are(delivery)));
    server
}

fn other<'s>(caller: &Caller<'s>) -> Caller<'s> {
    caller.from("192.0.2.1:701").over(OTHER)
}

#[test]
fn process_behind_the_same_address_does_not_get_the_reply_that_another_one_has() {
    let server = server_whose_connections_are(Delivery::Delivered);
    let caller = Caller::root(&server);
    for (name, message) in calls(&caller, &caller.mount()) {
        assert!(is_success(&caller.reply_to(&message)), "{name}");
        let said = other(&caller).on_event_loop().send(&message);
        assert!(
            matches!(said, Said::Nothing(Answer::WouldBlock(_))),
            "{name} waits for the first connection: {said:?}"
        );
        assert!(!is_success(&other(&caller).reply_to(&message)), "{name} is carried out");
    }
    assert_eq!(server.counters().replayed(), 0);
}

#[test]
fn call_over_another_connection_is_a_retransmission_if_the_first_one_lost_the_reply() {
    // A reply that nobody acknowledges is lost with a connection that is given up and not closed.
    for delivery in [Delivery::Lost, Delivery::Pending] {
        let server = server_whose_connections_are(delivery);
        let caller = Caller::root(&server);
        for (name, message) in calls(&caller, &caller.mount()) {
            let first = caller.reply_to(&message);
            assert!(is_success(&first), "{name}");
            assert_eq!(other(&caller).reply_to(&message), first, "{name}, {delivery:?}");
            // From now on the second connection counts.
            assert_eq!(other(&caller).on_event_loop().reply_to(&message), first, "{name}, {delivery:?}");
        }
    }
}

#[test]
fn connection_that_a_client_closed_with_all_replies_lost_none() {
    for is_delivered in [true, false] {
        let server = memory_server();
        let caller = Caller::root(&server);
        for (name, message) in calls(&caller, &caller.mount()) {
            assert!(is_success(&caller.reply_to(&message)), "{name}");
            server.disconnected(&caller.peer, is_delivered, caller.now);
            assert_eq!(is_success(&other(&caller).reply_to(&message)), !is_delivered, "{name}");
        }
    }
}

#[test]
fn datagram_from_another_port_is_another_call() {
    let server = memory_server();
    let caller = Caller::root(&server).over_udp();
    for (name, message) in calls(&caller, &caller.mount()) {
        assert!(is_success(&caller.reply_to(&message)), "{name}");
        assert!(!is_success(&caller.from("192.0.2.1:701").reply_to(&message)), "{name}");
    }
}

#[test]
fn version_2_tells_processes_apart_too() {
    let server = server_whose_connections_are(Delivery::Delivered);
    let caller = Caller::root(&server);
    let v2 = Caller2(caller);
    let root = v2.mount();
    v2.make_file(&root, "victim");
    v2.make_file(&root, "from");
    let place = at2(&root, "dir");
    for (name, message) in [
        ("MKDIR", caller.message::<nfs2::Mkdir>(&nfs2::CreateArgs { place, attributes: mode2(0o755) })),
        ("REMOVE", caller.message::<nfs2::Remove>(&nfs2::RemoveArgs { object: at2(&root, "victim") })),
        ("RENAME", {
            caller.message::<nfs2::Rename>(&nfs2::RenameArgs { from: at2(&root, "from"), to: at2(&root, "to") })
        }),
    ] {
        assert!(is_success(&caller.reply_to(&message)), "{name}");
        assert!(!is_success(&other(&caller).reply_to(&message)), "{name}");
    }
}

/// The first process's call may fail, too: nothing is known of it before it ends.
#[test]
fn call_of_another_process_waits_for_the_one_that_is_under_way() {
    let plan: FaultPlan = "make_node:delay=100ms".parse().unwrap();
    let server = server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), plan)))]);
    server.watch_connections(Box::new(Are(Delivery::Delivered)));
    let caller = Caller::root(&server);
    let root = caller.mount();
    let (name, message) = calls(&caller, &root).swap_remove(2);
    let (both_ready, is_answered) = (Barrier::new(2), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            both_ready.wait();
            assert!(is_success(&caller.reply_to(&message)) != is_answered.swap(true, Ordering::Relaxed), "{name}");
        });
        both_ready.wait();
        assert!(is_success(&other(&caller).reply_to(&message)) != is_answered.swap(true, Ordering::Relaxed), "{name}");
    });
}
