//! A client of NFSv4.0.

use proto::nfs4::{
    CallbackClient, ClientId, CreateHow, Fattr, Getfh, NetAddr, Open, OpenArgs, OpenClaim, OpenConfirm,
    OpenConfirmArgs, OpenHow, OpenOk, ResOr, SHARE_ACCESS_BOTH, SHARE_DENY_NONE, Setclientid, SetclientidArgs,
    SetclientidConfirm, SetclientidConfirmArgs, SetclientidOk, StateOwner, Stateid,
};

use testing::caller::Caller;
use testing::compound::{Compound, Results, success};

#[derive(Clone, Copy)]
pub struct Client40<'s> {
    pub caller: Caller<'s>,
    pub id: ClientId,
}

/// What a SETCLIENTID of `name` asks.
pub fn setclientid(name: &[u8], verifier: [u8; 8]) -> SetclientidArgs<'_> {
    let location = NetAddr { netid: b"tcp", address: b"192.0.2.1.3.4" };
    SetclientidArgs {
        verifier,
        id: name,
        callback: CallbackClient { program: 0x4000_0000, location },
        callback_ident: 1,
    }
}

impl<'s> Client40<'s> {
    pub fn named(caller: Caller<'s>, name: &[u8]) -> Client40<'s> {
        let set = Compound::new(0).op::<Setclientid>(&setclientid(name, [1; 8]));
        let ResOr::Ok(SetclientidOk { client, confirm }) = caller.compound(&set).take::<Setclientid>() else {
            panic!("SETCLIENTID failed")
        };
        let confirm = Compound::new(0).op::<SetclientidConfirm>(&SetclientidConfirmArgs { client, confirm });
        success(caller.compound(&confirm).take::<SetclientidConfirm>());
        Client40 { caller, id: client }
    }

    pub fn new(caller: Caller<'s>) -> Client40<'s> {
        Client40::named(caller, b"the client")
    }

    pub fn owner<'n>(&self, name: &'n str) -> StateOwner<'n> {
        StateOwner { client: self.id, owner: name.as_bytes() }
    }

    /// An OPEN of `name` for reading and writing that makes the file if there is none.
    pub fn open<'n>(&self, owner: &'n str, seqid: u32, name: &'n str) -> OpenArgs<'n> {
        OpenArgs {
            seqid,
            share_access: SHARE_ACCESS_BOTH,
            share_deny: SHARE_DENY_NONE,
            owner: self.owner(owner),
            how: OpenHow::Create(CreateHow::Unchecked(Fattr::EMPTY)),
            claim: OpenClaim::Null(proto::nfs4::Component(name.as_bytes())),
        }
    }

    /// A COMPOUND that opens a file in the root of the export and tells its handle.
    pub fn opening(&self, open: &OpenArgs<'_>) -> Compound {
        Compound::new(0).root().op::<Open>(open).op::<Getfh>(&())
    }

    pub fn opened(results: &mut Results) -> OpenOk<'static> {
        success(results.skip_root().take::<Open>())
    }

    /// Opens and confirms; the owner's next number is 3.
    pub fn open_confirmed(&self, owner: &str, name: &str) -> Stateid {
        let stateid = Client40::opened(&mut self.caller.compound(&self.opening(&self.open(owner, 1, name)))).stateid;
        let confirm = Compound::new(0).root().lookup(name).op::<OpenConfirm>(&OpenConfirmArgs { stateid, seqid: 2 });
        let mut results = self.caller.compound(&confirm);
        success(results.skip_root().take::<proto::nfs4::Lookup>());
        success(results.take::<OpenConfirm>())
    }

    /// A COMPOUND that works on a file in the root of the export.
    pub fn at(name: &str) -> Compound {
        Compound::new(0).root().lookup(name)
    }

    /// Sends what [`Client40::at`] began, and passes by the way there.
    #[track_caller]
    pub fn call(&self, compound: &Compound) -> Results {
        let mut results = self.caller.compound(compound);
        success(results.skip_root().take::<proto::nfs4::Lookup>());
        results
    }
}
