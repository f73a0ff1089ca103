//! Calls of NFSv4.0 with the same bytes, over several connections.

use std::time::Duration;

use proto::nfs4::{Component, Create, CreateArgs, CreateType, Fattr, Remove, RemoveArgs, Rename, RenameArgs, Savefh};
use server::{Connections, Delivery};

use testing::caller::{Caller, memory_server};
use testing::compound::{COMPOUND, Compound, Results};

/// Everybody has his replies.
struct Delivered;

impl Connections for Delivered {
    fn delivery(&self, _: u64, _: Duration) -> Delivery {
        Delivery::Delivered
    }

    fn count(&self) -> usize {
        1
    }
}

#[test]
fn process_behind_the_same_address_does_not_get_the_reply_that_another_one_has() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let directory = |name: &'static str| CreateArgs {
        kind: CreateType::Directory,
        name: Component(name.as_bytes()),
        attributes: Fattr::EMPTY,
    };
    let setup = Compound::new(0).root().op::<Create>(&directory("victim"));
    let setup = setup.root().op::<Create>(&directory("from"));
    caller.compound(&setup);
    let rename = RenameArgs { old_name: Component(b"from"), new_name: Component(b"to") };
    for (name, compound) in [
        ("CREATE", Compound::new(0).root().op::<Create>(&directory("lock"))),
        ("REMOVE", Compound::new(0).root().op::<Remove>(&RemoveArgs { target: Component(b"victim") })),
        ("RENAME", Compound::new(0).root().op::<Savefh>(&()).op::<Rename>(&rename)),
    ] {
        let message = caller.message_of(COMPOUND, &compound);
        let first = caller.reply_to(&message);
        assert_eq!(Results::parse(&first).status, proto::nfs4::Status::Ok, "{name}");
        assert_eq!(caller.reply_to(&message), first, "{name} over the same connection");
        server.watch_connections(Box::new(Delivered));
        let other = caller.from("192.0.2.1:701").over(2).reply_to(&message);
        assert_ne!(Results::parse(&other).status, proto::nfs4::Status::Ok, "{name} of another process");
    }
}
