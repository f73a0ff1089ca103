//! Messages that no honest client sends: the server answers or is silent, and never panics.

use proto::nfs3::StableHow;
use proto::{mount, nfs2, nfs3, nlm, nsm, rpcbind};
use rpc::Reply;
use server::{Answer, Server};

use testing::Random;
use testing::caller::nfs3::{at, mode, size, success};
use testing::caller::{Caller, Said, memory_server};

/// How many altered forms of each call are sent.
const ALTERED: u64 = 400;
/// The longest reply, in bytes: the largest READ and what goes around it.
const MAX_REPLY_BYTES: usize = (1 << 20) + 1024;

/// One valid call of every procedure.
fn all_calls(caller: &Caller<'_>) -> Vec<Vec<u8>> {
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    success(caller.setattr(&file, size(100)));
    [
        nfs3_calls(caller, root, file),
        nfs2_calls(caller, root, file),
        mount_calls(caller),
        rpcbind_calls(caller),
        nlm_calls::<nlm::V1>(caller, file),
        nlm_calls::<nlm::V4>(caller, file),
        nlm_share_calls(caller, file),
        nsm_calls(caller),
    ]
    .concat()
}

fn nfs3_calls(caller: &Caller<'_>, root: nfs3::FileHandle, file: nfs3::FileHandle) -> Vec<Vec<u8>> {
    let place = at(&root, "new");
    let how = nfs3::CreateHow::Exclusive([7; 8]);
    let what = nfs3::MknodData::CharDevice(mode(0o600), nfs3::SpecData { major: 1, minor: 3 });
    let write = nfs3::WriteArgs { file, offset: 0, count: 5, stable: StableHow::FileSync, data: b"bytes" };
    let list = nfs3::ReaddirArgs { dir: root, cookie: 0, verifier: [0; 8], count: 4096 };
    let plus = nfs3::ReaddirplusArgs { dir: root, cookie: 0, verifier: [0; 8], dir_count: 4096, max_count: 4096 };
    let time = nfs3::Time { seconds: 5, nanoseconds: 6 };
    let attributes = nfs3::Sattr { modified: nfs3::SetTime::ClientTime(time), uid: Some(1), ..mode(0o600) };
    vec![
        caller.message::<nfs3::Null>(&()),
        caller.message::<nfs3::Getattr>(&nfs3::GetattrArgs { object: file }),
        caller.message::<nfs3::Setattr>(&nfs3::SetattrArgs { object: file, attributes, guard: Some(time) }),
        caller.message::<nfs3::Lookup>(&nfs3::LookupArgs { what: at(&root, "file") }),
        caller.message::<nfs3::Access>(&nfs3::AccessArgs { object: file, access: 0x3f }),
        caller.message::<nfs3::Readlink>(&nfs3::ReadlinkArgs { symlink: file }),
        caller.message::<nfs3::Read>(&nfs3::ReadArgs { file, offset: 3, count: 50 }),
        caller.message::<nfs3::Write>(&write),
        caller.message::<nfs3::Create>(&nfs3::CreateArgs { place, how }),
        caller.message::<nfs3::Mkdir>(&nfs3::MkdirArgs { place, attributes }),
        caller.message::<nfs3::Symlink>(&nfs3::SymlinkArgs { place, attributes, target: b"target" }),
        caller.message::<nfs3::Mknod>(&nfs3::MknodArgs { place, what }),
        caller.message::<nfs3::Remove>(&nfs3::RemoveArgs { object: place }),
        caller.message::<nfs3::Rmdir>(&nfs3::RmdirArgs { object: place }),
        caller.message::<nfs3::Rename>(&nfs3::RenameArgs { from: place, to: at(&root, "other") }),
        caller.message::<nfs3::Link>(&nfs3::LinkArgs { file, link: at(&root, "again") }),
        caller.message::<nfs3::Readdir>(&list),
        caller.message::<nfs3::Readdirplus>(&plus),
        caller.message::<nfs3::Fsstat>(&nfs3::FsArgs { object: root }),
        caller.message::<nfs3::Fsinfo>(&nfs3::FsArgs { object: root }),
        caller.message::<nfs3::Pathconf>(&nfs3::FsArgs { object: root }),
        caller.message::<nfs3::Commit>(&nfs3::CommitArgs { file, offset: 0, count: 100 }),
    ]
}

fn nfs2_calls(caller: &Caller<'_>, root: nfs3::FileHandle, file: nfs3::FileHandle) -> Vec<Vec<u8>> {
    let padded = |handle: nfs3::FileHandle| {
        let mut bytes = [0; nfs2::FileHandle::BYTES];
        bytes[..handle.as_bytes().len()].copy_from_slice(handle.as_bytes());
        nfs2::FileHandle(bytes)
    };
    let (dir, file) = (padded(root), padded(file));
    let place = nfs2::DirOp { dir, name: b"new2" };
    let attributes = nfs2::Sattr { mode: Some(0o020_600), size: Some(0x0103), ..nfs2::Sattr::default() };
    let write = nfs2::WriteArgs { file, begin_offset: 0, offset: 0, total_count: 0, data: b"bytes" };
    vec![
        caller.message::<nfs2::Null>(&()),
        caller.message::<nfs2::Getattr>(&nfs2::GetattrArgs { file }),
        caller.message::<nfs2::Setattr>(&nfs2::SetattrArgs { file, attributes }),
        caller.message::<nfs2::Root>(&()),
        caller.message::<nfs2::Lookup>(&nfs2::LookupArgs { what: place }),
        caller.message::<nfs2::Readlink>(&nfs2::ReadlinkArgs { symlink: file }),
        caller.message::<nfs2::Read>(&nfs2::ReadArgs { file, offset: 3, count: 50, total_count: 0 }),
        caller.message::<nfs2::Writecache>(&()),
        caller.message::<nfs2::Write>(&write),
        caller.message::<nfs2::Create>(&nfs2::CreateArgs { place, attributes }),
        caller.message::<nfs2::Remove>(&nfs2::RemoveArgs { object: place }),
        caller.message::<nfs2::Rename>(&nfs2::RenameArgs { from: place, to: nfs2::DirOp { dir, name: b"to" } }),
        caller.message::<nfs2::Link>(&nfs2::LinkArgs { file, link: place }),
        caller.message::<nfs2::Symlink>(&nfs2::SymlinkArgs { place, target: b"target", attributes }),
        caller.message::<nfs2::Mkdir>(&nfs2::CreateArgs { place, attributes }),
        caller.message::<nfs2::Rmdir>(&nfs2::RmdirArgs { object: place }),
        caller.message::<nfs2::Readdir>(&nfs2::ReaddirArgs { dir, cookie: 0, count: 4096 }),
        caller.message::<nfs2::Statfs>(&nfs2::StatfsArgs { file }),
    ]
}

fn nlm_calls<V: nlm::Version>(caller: &Caller<'_>, file: nfs3::FileHandle) -> Vec<Vec<u8>> {
    let number = |value: u64| V::Offset::try_from(value).ok().unwrap();
    let (cookie, owner, handle) = (nlm::NetObj(b"cookie"), nlm::NetObj(b"owner"), nlm::NetObj(file.as_bytes()));
    let (offset, length) = (number(7), number(20));
    let lock = nlm::Range { caller_name: b"client", file: handle, owner, svid: 77, offset, length };
    let exclusive = true;
    let locks = nlm::LockArgs { cookie, block: true, exclusive, lock, reclaim: false, state: 5 };
    let tests = nlm::TestArgs { cookie, exclusive, lock };
    let cancels = nlm::CancelArgs { cookie, block: true, exclusive, lock };
    let unlocks = nlm::UnlockArgs { cookie, lock };
    vec![
        caller.message::<nlm::Null<V>>(&()),
        caller.message::<nlm::Lock<V>>(&locks),
        caller.message::<nlm::LockMsg<V>>(&locks),
        caller.message::<nlm::Test<V>>(&tests),
        caller.message::<nlm::TestMsg<V>>(&tests),
        caller.message::<nlm::Cancel<V>>(&cancels),
        caller.message::<nlm::CancelMsg<V>>(&cancels),
        caller.message::<nlm::Unlock<V>>(&unlocks),
        caller.message::<nlm::UnlockMsg<V>>(&unlocks),
        caller.message::<nlm::Granted<V>>(&tests),
        caller.message::<nlm::GrantedMsg<V>>(&tests),
        caller.message::<nlm::GrantedRes<V>>(&nlm::Res { cookie, status: nlm::Status::Denied }),
    ]
}

fn nlm_share_calls(caller: &Caller<'_>, file: nfs3::FileHandle) -> Vec<Vec<u8>> {
    let (cookie, owner, handle) = (nlm::NetObj(b"cookie"), nlm::NetObj(b"owner"), nlm::NetObj(file.as_bytes()));
    let (mode, access) = (nlm::ShareMode::DenyWrite, nlm::ShareAccess::Read);
    let share = nlm::ShareReservation { caller_name: b"client", file: handle, owner, mode, access };
    let args = nlm::ShareArgs { cookie, share, reclaim: false };
    vec![
        caller.message::<nlm::Share<nlm::V3>>(&args),
        caller.message::<nlm::Unshare<nlm::V4>>(&args),
        caller.message::<nlm::FreeAll<nlm::V4>>(&nlm::FreeAllArgs { name: b"client", state: 5 }),
    ]
}

fn nsm_calls(caller: &Caller<'_>) -> Vec<Vec<u8>> {
    let me = nsm::MyId { name: b"me", program: 100_021, version: 4, procedure: 16 };
    let id = nsm::MonId { name: b"client", caller: me };
    vec![
        caller.message::<nsm::Stat>(&nsm::StatArgs { name: b"client" }),
        caller.message::<nsm::Mon>(&nsm::MonArgs { id, private: [7; 16] }),
        caller.message::<nsm::Unmon>(&id),
        caller.message::<nsm::UnmonAll>(&me),
        caller.message::<nsm::Notify>(&nsm::NotifyArgs { name: b"client", state: 5 }),
    ]
}

fn mount_calls(caller: &Caller<'_>) -> Vec<Vec<u8>> {
    let path = mount::DirPath { path: b"/srv/export" };
    vec![
        caller.message::<mount::Null<3>>(&()),
        caller.message::<mount::Mnt3>(&path),
        caller.message::<mount::Mnt<2>>(&path),
        caller.message::<mount::Dump<3>>(&()),
        caller.message::<mount::Umnt<3>>(&path),
        caller.message::<mount::Umntall<3>>(&()),
        caller.message::<mount::Export<3>>(&()),
        caller.message::<mount::Exportall<2>>(&()),
        caller.message::<mount::Pathconf>(&path),
    ]
}

fn rpcbind_calls(caller: &Caller<'_>) -> Vec<Vec<u8>> {
    let service =
        rpcbind::Rpcb { program: 100_003, version: 3, netid: b"tcp", address: b"127.0.0.1.8.1", owner: b"superuser" };
    let mapping = rpcbind::portmap::Mapping { program: 100_003, version: 3, protocol: 6, port: 2049 };
    let remote = rpcbind::RemoteCall { program: 100_003, version: 3, procedure: 0, arguments: b"arguments" };
    let socket = rpcbind::Netbuf { max_bytes: 16, bytes: &[2, 0, 8, 1, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0] };
    vec![
        caller.message::<rpcbind::Set<4>>(&service),
        caller.message::<rpcbind::Unset<4>>(&service),
        caller.message::<rpcbind::Getaddr<3>>(&service),
        caller.message::<rpcbind::Dump<4>>(&()),
        caller.message::<rpcbind::Callit<4>>(&remote),
        caller.message::<rpcbind::Gettime<3>>(&()),
        caller.message::<rpcbind::Uaddr2taddr<4>>(&rpcbind::Uaddr { text: b"127.0.0.1.8.1" }),
        caller.message::<rpcbind::Taddr2uaddr<4>>(&socket),
        caller.message::<rpcbind::Getversaddr>(&service),
        caller.message::<rpcbind::Indirect>(&remote),
        caller.message::<rpcbind::Getaddrlist>(&service),
        caller.message::<rpcbind::Getstat>(&()),
        caller.message::<rpcbind::portmap::Set>(&mapping),
        caller.message::<rpcbind::portmap::Unset>(&mapping),
        caller.message::<rpcbind::portmap::Getport>(&mapping),
        caller.message::<rpcbind::portmap::Dump>(&()),
        caller.message::<rpcbind::portmap::Callit>(&remote),
    ]
}

/// Whatever the message is, what comes back is a reply to it of a sensible size, or nothing.
#[track_caller]
fn assert_sane(caller: &Caller<'_>, message: &[u8]) {
    match caller.send(message) {
        Said::Reply(reply) => {
            assert!(reply.len() <= MAX_REPLY_BYTES, "{} bytes", reply.len());
            assert_eq!(reply[..4], message[..4], "the reply has the call's xid");
            Reply::parse(&reply).unwrap();
        }
        Said::Nothing(answer) => assert!(matches!(answer, Answer::Silent | Answer::NotACall(_)), "{answer:?}"),
    }
}

fn callers(server: &Server) -> [Caller<'_>; 2] {
    let caller = Caller::root(server);
    [caller, caller.from("127.0.0.1:700").over_udp()]
}

#[test]
fn every_truncation_of_every_call_is_answered_or_dropped() {
    let server = memory_server();
    for caller in callers(&server) {
        for message in all_calls(&caller) {
            (0..message.len()).for_each(|length| assert_sane(&caller, &message[..length]));
        }
        success(caller.remove(&caller.mount(), "file"));
    }
}

#[test]
fn altered_calls_are_answered_or_dropped() {
    let server = memory_server();
    let mut random = Random(1);
    let caller = callers(&server)[1];
    for (number, message) in all_calls(&caller).iter().enumerate() {
        for variant in 0..ALTERED {
            let altered = alter(message, &mut random);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| assert_sane(&caller, &altered)));
            assert!(result.is_ok(), "variant {variant} of call {number}: {altered:02x?}");
        }
    }
}

#[test]
fn noise_is_dropped_or_answered() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let mut random = Random(2);
    for _ in 0..5000 {
        let length = random.below(300) as usize;
        let noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        assert_sane(&caller, &noise);
    }
}

/// One to four changes: of a bit, of a word to something extreme, a word more, or a word less.
fn alter(message: &[u8], random: &mut Random) -> Vec<u8> {
    const EXTREMES: [u32; 10] = [0, 1, 2, 3, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0, 0xffff_ffff];
    let mut altered = message.to_vec();
    for _ in 0..=random.below(4) {
        if altered.len() < 8 {
            break;
        }
        // The xid and the direction stay: without them there is nothing to answer.
        let at = 8 + random.below(altered.len() as u64 - 7) as usize;
        let word = at / 4 * 4;
        match random.below(4) {
            0 if at < altered.len() => altered[at] ^= 1 << random.below(8),
            1 if word + 4 <= altered.len() => {
                altered[word..word + 4].copy_from_slice(&random.of(&EXTREMES).to_be_bytes());
            }
            2 => drop(altered.splice(word..word, random.next().to_be_bytes()[..4].iter().copied())),
            _ if word + 4 <= altered.len() => drop(altered.drain(word..word + 4)),
            _ => {}
        }
    }
    altered
}
