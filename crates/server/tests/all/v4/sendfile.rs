//! READs of sessions that are answered from the file itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use buffer::Output;
use fs_host::{HandleForm, HostFs, HostOptions};
use proto::nfs4::{Getattr, GetattrArgs, Read, ReadArgs, Sequence, SequenceArgs, Stateid, Status};
use server::{Request, Server, Settings};

use testing::caller::{Caller, EXPORT, WORKERS, export, settings};
use testing::compound::{COMPOUND, Compound, Results, success};
use testing::session::Session;

const SIZE: usize = 100_001;

/// A directory of tmpfs with one file, and a server of it; `None` where there is no tmpfs.
struct Memory {
    base: PathBuf,
    server: Server,
}

impl Memory {
    fn new(name: &str) -> Option<Memory> {
        if !std::fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
            println!("skipped: /dev/shm is no tmpfs here");
            return None;
        }
        let base = Path::new("/dev/shm").join(format!("wharf-sendfile4-{}-{name}", std::process::id()));
        std::fs::create_dir_all(base.join("export")).unwrap();
        std::fs::write(base.join("export/file"), vec![7; SIZE]).unwrap();
        let options = HostOptions {
            handle_form: HandleForm::Store,
            state_dir: Some(base.join("state")),
            workers: WORKERS,
            ..HostOptions::default()
        };
        let files = HostFs::open(&base.join("export"), options).unwrap();
        let settings = Settings { sendfile_bytes: Some(16), ..settings() };
        let server = Server::new(settings, vec![export(EXPORT, Arc::new(files))]).unwrap();
        Some(Memory { base, server })
    }

    fn session(&self) -> Session<'_> {
        Session::new(Caller::root(&self.server).myself(), 1)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

/// A COMPOUND that looks the file up, whose reply is kept or not.
fn begin(session: &Session<'_>, cache_this: bool) -> Compound {
    let next = session.next.replace(session.next.get() + 1);
    let sequence = SequenceArgs { cache_this, ..session.sequence(next) };
    Compound::new(1).op::<Sequence>(&sequence).root().lookup("file")
}

fn send(session: &Session<'_>, message: &[u8], output: &mut Output) {
    let Caller { peer, may_block, now, .. } = session.caller;
    session
        .caller
        .server
        .answer(&Request { message, peer, worker: 0, may_block, now, batch: None, is_scarce: false }, output);
}

fn message(session: &Session<'_>, compound: &Compound) -> Vec<u8> {
    session.caller.message_of(COMPOUND, compound)
}

const READ: ReadArgs = ReadArgs { stateid: Stateid::READ_BYPASS, offset: 1000, count: 50_001 };

#[test]
fn last_read_of_a_reply_that_is_not_kept_leaves_its_bytes_in_the_file() {
    let Some(memory) = Memory::new("last") else { return };
    let session = memory.session();
    let mut output = Output::new();
    send(&session, &message(&session, &begin(&session, false).op::<Read>(&READ)), &mut output);
    let [piece] = output.files() else { panic!("{output:?}") };
    assert_eq!((piece.offset_bytes, piece.length, piece.after), (1000, 50_001, output.bytes.len() - 3));
}

#[test]
fn replies_behind_it_in_one_output_are_measured_for_themselves() {
    let Some(memory) = Memory::new("behind") else { return };
    let session = memory.session();
    let mut output = Output::new();
    // Far more than the session's largest reply, in all.
    for _ in 0..40 {
        send(&session, &message(&session, &begin(&session, false).op::<Read>(&READ)), &mut output);
    }
    assert_eq!(output.files().len(), 40);
}

#[test]
fn reply_that_is_kept_or_goes_on_behind_the_bytes_has_them_itself() {
    let Some(memory) = Memory::new("kept") else { return };
    let session = memory.session();
    let short = ReadArgs { count: 4096, ..READ };
    let look = GetattrArgs { request: proto::nfs4::Attribute::set(&[proto::nfs4::Attribute::Size]) };
    let kept = message(&session, &begin(&session, true).op::<Read>(&ReadArgs { count: 3000, ..READ }));
    let goes_on = message(&session, &begin(&session, false).op::<Read>(&short).op::<Getattr>(&look));
    for (message, count) in [(kept, 3000), (goes_on, 4096)] {
        let mut output = Output::new();
        send(&session, &message, &mut output);
        assert!(output.files().is_empty());
        let mut results = Results::parse(output.bytes.as_slice());
        success(results.take::<Sequence>());
        success(results.skip_root().take::<proto::nfs4::Lookup>());
        assert_eq!(success(results.take::<Read>()).data.len(), count);
    }
}

#[test]
fn request_that_comes_again_hears_that_its_reply_was_not_kept() {
    let Some(memory) = Memory::new("again") else { return };
    let session = memory.session();
    let message = message(&session, &begin(&session, false).op::<Read>(&READ));
    send(&session, &message, &mut Output::new());
    let mut again = Output::new();
    send(&session, &message, &mut again);
    assert_eq!(Results::parse(again.bytes.as_slice()).status, Status::RetryUncachedRep);
}
