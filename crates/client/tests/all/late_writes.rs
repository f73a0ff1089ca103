//! Writes that are sent late, against a server made by hand that restarts, refuses, is silent and loses what it may
//! lose.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Caching, Credentials, File, Mount, OpenOptions, Options, Status};
use proto::nfs3::{self, FileType, Res, StableHow, WccData};
use vfs::{CreateMode, SetAttributes};

use crate::fake::{self, Answer, FILE, Question, basics, fattr, handle, results, serve};

const BLOCK: usize = 4096;

/// A server's only file.
#[derive(Default)]
struct Disk {
    stable: Vec<u8>,
    memory: Vec<u8>,
    verifier: [u8; 8],
    reads: usize,
    writes: usize,
    commits: usize,
    is_full: bool,
    /// The user who has used up what there is for him.
    quota_of: Option<u32>,
    is_silent: bool,
    /// It restarts when this many WRITEs have come.
    restarts_after: Option<usize>,
}

impl Disk {
    fn restart(&mut self) {
        self.memory.clone_from(&self.stable);
        self.verifier[0] += 1;
    }

    fn answer(&mut self, question: &Question) -> Option<Answer> {
        if question.is::<nfs3::Lookup>() {
            let attributes = Some(fattr(FileType::Regular, self.memory.len() as u64));
            let ok = nfs3::LookupOk { object: handle(FILE), attributes, dir_attributes: None };
            return Some(results(Res::<_, nfs3::PostOpAttr>::Ok(ok)));
        }
        if question.is::<nfs3::Getattr>() && question.arguments::<nfs3::Getattr>().object == handle(FILE) {
            let attributes = fattr(FileType::Regular, self.memory.len() as u64);
            return Some(results(Res::<_, ()>::Ok(nfs3::GetattrOk { attributes })));
        }
        if question.is::<nfs3::Read>() {
            return Some(self.read(&question.arguments::<nfs3::Read>()));
        }
        if question.is::<nfs3::Access>() {
            let ok = nfs3::AccessOk { attributes: None, access: question.arguments::<nfs3::Access>().access };
            return Some(results(Res::<_, nfs3::PostOpAttr>::Ok(ok)));
        }
        if question.is::<nfs3::Write>() && question.uid.is_some() && question.uid == self.quota_of {
            return Some(results(Res::<nfs3::WriteOk, _>::Fail(nfs3::Status::DQuot, WccData::default())));
        }
        if question.is::<nfs3::Write>() {
            return Some(self.write(&question.arguments::<nfs3::Write>()));
        }
        if question.is::<nfs3::Create>() {
            (self.memory, self.stable) = (Vec::new(), Vec::new());
            let attributes = Some(fattr(FileType::Regular, 0));
            let ok = nfs3::CreateOk { object: Some(handle(FILE)), attributes, dir_wcc: WccData::default() };
            return Some(results(Res::<_, WccData>::Ok(ok)));
        }
        if question.is::<nfs3::Commit>() {
            self.commits += 1;
            self.stable.clone_from(&self.memory);
            let ok = nfs3::CommitOk { file_wcc: WccData::default(), verifier: self.verifier };
            return Some(results(Res::<_, WccData>::Ok(ok)));
        }
        None
    }

    fn read(&mut self, arguments: &nfs3::ReadArgs) -> Answer {
        self.reads += 1;
        if self.is_silent {
            return Answer::Silence;
        }
        let from = (arguments.offset as usize).min(self.memory.len());
        let to = (from + arguments.count as usize).min(self.memory.len());
        let head = nfs3::ReadHead { attributes: None, count: (to - from) as u32, eof: to == self.memory.len() };
        results(Res::<_, nfs3::PostOpAttr>::Ok(nfs3::ReadOk { head, data: &self.memory[from..to] }))
    }

    fn write(&mut self, arguments: &nfs3::WriteArgs<'_>) -> Answer {
        self.writes += 1;
        if self.is_silent {
            return Answer::Silence;
        }
        if self.is_full {
            return results(Res::<nfs3::WriteOk, _>::Fail(nfs3::Status::NoSpc, WccData::default()));
        }
        if self.restarts_after == Some(self.writes) {
            self.restart();
        }
        let (from, data) = (arguments.offset as usize, arguments.data);
        self.memory.resize(self.memory.len().max(from + data.len()), 0);
        self.memory[from..from + data.len()].copy_from_slice(data);
        if arguments.stable != StableHow::Unstable {
            self.stable.clone_from(&self.memory);
        }
        let (count, committed, verifier) = (data.len() as u32, arguments.stable, self.verifier);
        results(Res::<_, WccData>::Ok(nfs3::WriteOk { file_wcc: WccData::default(), count, committed, verifier }))
    }
}

async fn open(caching: Caching, disk: Disk) -> (File, Arc<Mutex<Disk>>) {
    let (mount, disk) = connect(Options { caching, ..fake::options() }, disk).await;
    let file = mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.unwrap();
    (file, disk)
}

async fn connect(options: Options, disk: Disk) -> (Mount, Arc<Mutex<Disk>>) {
    let disk = Arc::new(Mutex::new(disk));
    let server = Arc::clone(&disk);
    let address =
        serve(move |question| server.lock().unwrap().answer(question).unwrap_or_else(|| basics(question))).await;
    let caching = Caching { block_bytes: BLOCK as u32, ..options.caching };
    let options = Options { caching, ..options };
    (Mount::connect(&format!("nfs://{address}/export").parse().unwrap(), &options).await.unwrap(), disk)
}

async fn wait_until(disk: &Mutex<Disk>, holds: impl Fn(&Disk) -> bool) {
    while !holds(&disk.lock().unwrap()) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn data(blocks: usize) -> Vec<u8> {
    (0..blocks * BLOCK).map(|byte| (byte % 241) as u8).collect()
}

#[tokio::test]
async fn everything_that_a_restart_lost_is_written_again() {
    for restarts_after in 1..=20 {
        let disk = Disk { restarts_after: Some(restarts_after), ..Disk::default() };
        let (file, disk) = open(Caching::default(), disk).await;
        file.write_at(0, &data(20)).await.unwrap();
        file.sync().await.unwrap();
        assert!(disk.lock().unwrap().stable == data(20), "restarted at WRITE {restarts_after}");
        file.close().await.unwrap();
    }
}

#[tokio::test]
async fn restart_before_the_commit_is_seen_by_its_verifier() {
    let (file, disk) = open(Caching::default(), Disk::default()).await;
    file.write_at(0, &data(8)).await.unwrap();
    file.flush().await.unwrap();
    assert_eq!(disk.lock().unwrap().commits, 0, "flushing sends only");
    disk.lock().unwrap().restart();
    file.close().await.unwrap();
    assert!(disk.lock().unwrap().stable == data(8));
}

#[tokio::test]
async fn late_error_is_told_once_by_whatever_comes_next() {
    let (file, disk) = open(Caching::default(), Disk { is_full: true, ..Disk::default() }).await;
    let no_space = |result: client::Result<()>| assert_eq!(result.unwrap_err().status(), Some(Status::NoSpace));
    file.write_at(0, b"flush tells").await.unwrap();
    no_space(file.flush().await);
    file.flush().await.unwrap();
    file.write_at(0, b"sync tells").await.unwrap();
    no_space(file.sync().await);
    file.write_at(0, &data(1)).await.unwrap();
    wait_until(&disk, |disk| disk.writes == 3).await;
    let told = loop {
        if let Err(error) = file.write_at(BLOCK as u64, b"the next write tells").await {
            break Err(error);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    no_space(told);
    file.write_at(0, b"close tells").await.unwrap();
    no_space(file.close().await);
}

#[tokio::test]
async fn error_of_a_late_write_is_told_to_who_wrote_and_to_nobody_else() {
    let own = Credentials::Sys { uid: 0, gid: 0, groups: Vec::new() };
    let disk = Disk { quota_of: Some(1000), ..Disk::default() };
    let (mount, disk) = connect(Options { credentials: own, ..fake::options() }, disk).await;
    let open = async |uid| {
        let user = mount.acting_as(&Credentials::Sys { uid, gid: uid, groups: Vec::new() });
        user.open(&user.root().handle, b"file", &OpenOptions::both()).await.unwrap()
    };
    let (alice, bob) = (open(1000).await, open(1001).await);
    alice.write_at(0, b"alice").await.unwrap();
    // What Alice wrote is sent before, and refused.
    bob.write_at(0, b"bob").await.unwrap();
    bob.sync().await.unwrap();
    assert_eq!(disk.lock().unwrap().stable, b"bob");
    assert_eq!(alice.sync().await.unwrap_err().status(), Some(Status::Quota));
    alice.sync().await.unwrap();
    bob.close().await.unwrap();
}

#[tokio::test]
async fn bytes_that_were_refused_are_read_from_the_server_again() {
    let (file, disk) = open(Caching::default(), Disk { memory: data(1), ..Disk::default() }).await;
    disk.lock().unwrap().is_full = true;
    file.write_at(10, b"refused").await.unwrap();
    file.flush().await.unwrap_err();
    let mut buffer = vec![0; BLOCK];
    assert_eq!(file.read_at(0, &mut buffer).await.unwrap(), BLOCK);
    assert!(buffer == data(1));
}

#[tokio::test]
async fn writers_wait_when_the_server_is_silent_and_readers_find_what_they_wrote() {
    let caching = Caching { max_bytes: 16 * BLOCK as u64, max_dirty_bytes: 4 * BLOCK as u64, ..Caching::default() };
    let (file, disk) = open(caching, Disk { is_silent: true, ..Disk::default() }).await;
    let all = data(100);
    let writing = tokio::time::timeout(Duration::from_millis(300), file.write_at(0, &all));
    assert!(writing.await.is_err(), "there is room for four blocks");
    let mut buffer = vec![0; 100 * BLOCK];
    let count = file.read_at(0, &mut buffer).await.unwrap();
    assert_eq!(count, 4 * BLOCK);
    assert!(buffer[..count] == all[..count]);
    assert!(disk.lock().unwrap().writes <= 4);
}

#[tokio::test]
async fn write_that_was_accepted_survives_whoever_waited_for_it() {
    let (file, disk) = open(Caching::default(), Disk { memory: data(40), ..Disk::default() }).await;
    for place in 0..40u8 {
        let mut buffer = vec![0; 10 * BLOCK];
        let offset = u64::from(place) * BLOCK as u64;
        drop(tokio::time::timeout(Duration::from_micros(100), file.read_at(offset, &mut buffer)).await);
        file.write_at(offset, &[place]).await.unwrap();
        drop(tokio::time::timeout(Duration::from_micros(50), file.sync()).await);
    }
    file.sync().await.unwrap();
    let mut expected = data(40);
    (0..40).for_each(|place| expected[place * BLOCK] = place as u8);
    assert!(disk.lock().unwrap().stable == expected);
    let mut buffer = vec![0; 40 * BLOCK];
    file.read_at(0, &mut buffer).await.unwrap();
    assert!(buffer == expected);
}

#[tokio::test]
async fn changes_are_written_in_the_background_after_a_while() {
    let (file, disk) = open(Caching::default(), Disk::default()).await;
    file.write_at(0, b"small").await.unwrap();
    wait_until(&disk, |disk| disk.stable == b"small").await;
    drop(file);
}

#[tokio::test]
async fn many_readers_of_one_block_share_its_read() {
    let disk = Disk { memory: data(1), ..Disk::default() };
    let (file, disk) = open(Caching { read_ahead_bytes: 0, ..Caching::default() }, disk).await;
    let file = Arc::new(file);
    let mut readers = tokio::task::JoinSet::new();
    for place in 0..50 {
        let file = Arc::clone(&file);
        readers.spawn(async move {
            let mut buffer = [0; 10];
            file.read_at(place, &mut buffer).await.unwrap();
            assert_eq!(buffer[..], data(1)[place as usize..][..10]);
        });
    }
    while let Some(ended) = readers.join_next().await {
        ended.unwrap();
    }
    assert_eq!(disk.lock().unwrap().reads, 1);
}

#[tokio::test]
async fn file_that_somebody_cut_ends_where_it_ends() {
    let disk = Disk { memory: data(10), ..Disk::default() };
    let (file, disk) = open(Caching { read_ahead_bytes: 0, ..Caching::default() }, disk).await;
    let mut buffer = vec![0; 10 * BLOCK];
    assert_eq!(file.read_at(0, &mut buffer[..100]).await.unwrap(), 100);
    disk.lock().unwrap().memory.truncate(3 * BLOCK + 5);
    assert_eq!(file.read_at(2 * BLOCK as u64, &mut buffer).await.unwrap(), BLOCK + 5);
    assert!(buffer[..BLOCK + 5] == data(10)[2 * BLOCK..][..BLOCK + 5]);
}

#[tokio::test]
async fn write_that_is_answered_late_does_not_make_a_file_longer_that_was_cut_when_it_was_opened() {
    // The WRITE that was not answered is sent again soon.
    let options = Options { timeout: Some(Duration::from_millis(200)), is_hard: true, ..fake::options() };
    let (mount, disk) = connect(options, Disk { is_silent: true, ..Disk::default() }).await;
    let dir = mount.root().handle;
    let file = mount.open(&dir, b"file", &OpenOptions::both()).await.unwrap();
    file.write_at(0, &data(4)).await.unwrap();
    let flushing = tokio::spawn(async move { file.flush().await });
    wait_until(&disk, |disk| disk.writes > 0).await;
    let set = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
    let cutting = OpenOptions::both().creating(CreateMode::Unchecked, set);
    let opening = tokio::spawn(async move { mount.open(&dir, b"file", &cutting).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    disk.lock().unwrap().is_silent = false;
    let cut = opening.await.unwrap().unwrap();
    flushing.await.unwrap().unwrap();
    cut.sync().await.unwrap();
    assert_eq!((cut.read_at(0, &mut [0; 10]).await.unwrap(), disk.lock().unwrap().memory.len()), (0, 0));
}
