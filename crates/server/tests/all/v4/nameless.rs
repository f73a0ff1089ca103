//! Files without a name: while a client has state in one, its handle reaches it (RFC 8881 §18.25.4), on every backend.

use std::path::PathBuf;
use std::sync::Arc;

use fs_fault::{FaultFs, FaultPlan};
use proto::nfs3::{FileHandle, StableHow, Status as Status3};
use proto::nfs4::{
    Close, CloseArgs, Component, CreateHow, Fattr, Getfh, Open, OpenArgs, OpenClaim, OpenHow, Putfh, PutfhArgs, Read,
    ReadArgs, Res, SHARE_ACCESS_BOTH, SHARE_DENY_NONE, StableHow as StableHow4, StateOwner, Stateid, Status,
    WANT_NO_DELEG, Write, WriteArgs,
};
use server::Server;
use vfs::FileSystem;

use testing::caller::nfs3::{at, failure, success};
use testing::caller::{Caller, EXPORT, export, memory, server};
use testing::compound::success as success4;
use testing::host_export::{self, forms};
use testing::session::Session;

/// A server, and the directory of this machine that it shows, if there is one.
struct Served {
    what: String,
    server: Server,
    directory: Option<host_export::Export>,
}

impl Served {
    fn new(what: String, files: Arc<dyn FileSystem>, directory: Option<host_export::Export>) -> Served {
        Served { what, server: server(vec![export(EXPORT, files)]), directory }
    }

    fn hosts() -> impl Iterator<Item = Served> {
        forms().into_iter().map(|form| {
            let directory = host_export::Export::in_memory();
            let files = Arc::new(directory.open(form));
            Served::new(format!("{form:?}"), files, Some(directory))
        })
    }

    fn all() -> impl Iterator<Item = Served> {
        let faulty = Arc::new(FaultFs::new(memory(), FaultPlan::default()));
        let others = [Served::new("memory".into(), memory(), None), Served::new("wrapped".into(), faulty, None)];
        others.into_iter().chain(Served::hosts())
    }

    fn caller(&self) -> Caller<'_> {
        Caller::root(&self.server).myself()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.as_ref().unwrap().path().join(name)
    }
}

/// A client that has a file open.
struct Holder<'s> {
    session: Session<'s>,
    file: FileHandle,
    stateid: Stateid,
}

impl<'s> Holder<'s> {
    fn new(caller: Caller<'s>) -> Holder<'s> {
        let session = Session::named(caller, 2, b"holder");
        let args = OpenArgs {
            seqid: 0,
            share_access: SHARE_ACCESS_BOTH | WANT_NO_DELEG,
            share_deny: SHARE_DENY_NONE,
            owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" },
            how: OpenHow::Create(CreateHow::Unchecked(Fattr::EMPTY)),
            claim: OpenClaim::Null(Component(b"f")),
        };
        let mut results = session.call(&session.begin().root().op::<Open>(&args).op::<Getfh>(&()));
        let stateid = success4(results.skip_root().take::<Open>()).stateid;
        let file = FileHandle::new(results.handle().as_bytes()).unwrap();
        let holder = Holder { session, file, stateid };
        holder.write(b"bytes");
        holder
    }

    /// Opens the file by its handle (RFC 8881 §18.16.3, CLAIM_FH) in a session of this or another client.
    fn reopen(&self, session: &Session<'_>) -> Result<Stateid, Status> {
        let args = OpenArgs {
            seqid: 0,
            share_access: SHARE_ACCESS_BOTH | WANT_NO_DELEG,
            share_deny: SHARE_DENY_NONE,
            owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"again" },
            how: OpenHow::NoCreate,
            claim: OpenClaim::Fh,
        };
        let object = proto::nfs4::FileHandle::new(self.file.as_bytes()).unwrap();
        let mut results = session.call(&session.begin().op::<Putfh>(&PutfhArgs { object }).op::<Open>(&args));
        success4(results.take::<Putfh>());
        match results.take::<Open>() {
            Res::Ok(opened) => Ok(opened.stateid),
            Res::Fail(status) => Err(status),
        }
    }

    fn there(&self) -> testing::compound::Compound {
        let object = proto::nfs4::FileHandle::new(self.file.as_bytes()).unwrap();
        self.session.begin().op::<Putfh>(&PutfhArgs { object })
    }

    fn write(&self, data: &[u8]) {
        let args = WriteArgs { stateid: self.stateid, offset: 0, stable: StableHow4::FileSync, data };
        let mut results = self.session.call(&self.there().op::<Write>(&args));
        success4(results.take::<Putfh>());
        assert_eq!(success4(results.take::<Write>()).count as usize, data.len());
    }

    fn read(&self) -> Vec<u8> {
        let args = ReadArgs { stateid: self.stateid, offset: 0, count: 100 };
        let mut results = self.session.call(&self.there().op::<Read>(&args));
        success4(results.take::<Putfh>());
        success4(results.take::<Read>()).data.to_vec()
    }

    fn close(&self) {
        let mut results =
            self.session.call(&self.there().op::<Close>(&CloseArgs { seqid: 0, open_stateid: self.stateid }));
        success4(results.take::<Putfh>());
        success4(results.take::<Close>());
    }
}

/// The file has no name and is used like any other until it is closed, by whatever version.
fn used_until_it_is_closed(what: &str, caller: Caller<'_>, holder: &Holder<'_>) {
    assert_eq!(caller.attributes(&holder.file).links, 0, "{what}");
    assert_eq!(holder.read(), b"bytes", "{what}");
    holder.write(b"other bytes");
    assert_eq!(holder.read(), b"other bytes", "{what}");
    success(caller.setattr(&holder.file, testing::caller::nfs3::size(5)));
    assert_eq!(success(caller.read(&holder.file, 0, 100)).data, b"other", "{what}");
    success(caller.write(&holder.file, 0, StableHow::Unstable, b"O"));
    assert_eq!((holder.read(), caller.attributes(&holder.file).size), (b"Other".to_vec(), 5), "{what}");
    assert_eq!(failure(caller.link(&holder.file, &caller.mount(), "again")), Status3::Stale, "{what}");
    holder.close();
    assert_eq!(failure(caller.getattr(&holder.file)), Status3::Stale, "{what}");
    assert_eq!(failure(caller.read(&holder.file, 0, 1)), Status3::Stale, "{what}");
}

#[test]
fn open_file_that_another_client_removes_is_used_until_it_is_closed() {
    for served in Served::all() {
        let caller = served.caller();
        let holder = Holder::new(caller);
        success(caller.remove(&caller.mount(), "f"));
        used_until_it_is_closed(&served.what, caller, &holder);
    }
}

#[test]
fn open_file_that_another_client_replaces_is_used_until_it_is_closed() {
    for served in Served::all() {
        let caller = served.caller();
        let (holder, root) = (Holder::new(caller), caller.mount());
        caller.make_file(&root, "g");
        success(caller.rename(at(&root, "g"), at(&root, "f")));
        assert_ne!(caller.handle_of(&root, "f"), holder.file, "{}", served.what);
        used_until_it_is_closed(&served.what, caller, &holder);
    }
}

#[test]
fn open_file_that_a_local_process_replaces_is_used_until_it_is_closed() {
    for served in Served::hosts() {
        let holder = Holder::new(served.caller());
        std::fs::write(served.path("g"), "new").unwrap();
        std::fs::rename(served.path("g"), served.path("f")).unwrap();
        used_until_it_is_closed(&served.what, served.caller(), &holder);
    }
}

#[test]
fn file_that_a_local_process_removes_is_read_by_version_3_while_the_server_has_it_open() {
    for served in Served::hosts() {
        let caller = served.caller();
        let file = caller.make_file(&caller.mount(), "f");
        std::fs::write(served.path("f"), "bytes").unwrap();
        success(caller.read(&file, 0, 1));
        std::fs::remove_file(served.path("f")).unwrap();
        assert_eq!(success(caller.read(&file, 0, 10)).data, b"bytes", "{}", served.what);
        assert_eq!(caller.attributes(&file).links, 0, "{}", served.what);
        // Files are closed after an idle time.
        served.server.tick(caller.later(100).now);
        served.server.tick(caller.later(200).now);
        assert_eq!(failure(caller.read(&file, 0, 10)), Status3::Stale, "{}", served.what);
    }
}

#[test]
fn replaced_file_is_opened_by_its_handle_only_by_clients_that_have_it_open() {
    for served in Served::hosts() {
        let caller = served.caller();
        let (holder, late) = (Holder::new(caller), Session::named(caller, 2, b"late"));
        // The server keeps the file open for the next READ.
        assert_eq!(success(caller.read(&holder.file, 0, 10)).data, b"bytes", "{}", served.what);
        std::fs::write(served.path("g"), "new").unwrap();
        std::fs::rename(served.path("g"), served.path("f")).unwrap();
        assert_eq!(holder.reopen(&late), Err(Status::Stale), "{}", served.what);
        let again = holder.reopen(&holder.session).unwrap();
        holder.close();
        let holder = Holder { stateid: again, ..holder };
        holder.close();
        assert_eq!(success(caller.read(&holder.file, 0, 10)).data, b"bytes", "{}", served.what);
        assert_eq!(holder.reopen(&late), Err(Status::Stale), "{}", served.what);
    }
}
