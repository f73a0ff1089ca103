//! What `FaultFs` promises.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fs_fault::{FaultFs, FaultPlan, Operation, Rules};
use fs_mem::{MemFs, MemOptions};
use vfs::{
    Access, Blocking, Context, CopyRange, CreateMode, Detail, Error, FileSystem, Name, NewNode, OpenFile, OpenMode,
    Place, ReadDir, Seek, SetAttributes, SetXattr, Stability, XattrMode, XattrName,
};

const CX: Context<'static> = Context::ROOT;
const LOOP: Context<'static> = Context { may_block: false, ..Context::ROOT };

fn with(text: &str) -> (FaultFs<dyn FileSystem>, FaultPlan) {
    let plan = FaultPlan::default();
    let inner: Arc<dyn FileSystem> = Arc::new(MemFs::new(MemOptions::default()));
    let fs = FaultFs::new(inner, plan.clone());
    fs.create(&CX, place(&fs, "f"), CreateMode::Guarded, &SetAttributes::default()).unwrap();
    plan.replace(text.parse::<Rules>().unwrap());
    (fs, plan)
}

fn place<'a>(fs: &dyn FileSystem, name: &'a str) -> Place<'a> {
    Place { dir: fs.root(), name: Name::new(name.as_bytes()).unwrap() }
}

fn open(fs: &dyn FileSystem) -> Arc<dyn OpenFile> {
    let handle = fs.lookup(&CX, place(fs, "f")).unwrap().handle;
    fs.open(&CX, &handle, OpenMode::Write).unwrap()
}

#[test]
fn crash_loses_what_was_written_and_not_synced_and_nothing_else() {
    let fs = FaultFs::losing(Arc::new(MemFs::new(MemOptions::default())), FaultPlan::default());
    fs.create(&CX, place(&fs, "f"), CreateMode::Guarded, &SetAttributes::default()).unwrap();
    let file = open(&fs);
    let write = |offset, data: &[u8]| file.write_at(&CX, offset, data, Stability::Unstable).unwrap();
    write(0, b"safe");
    file.sync(&CX).unwrap();
    write(2, b"LOST");
    write(1, b"x");
    assert_eq!(fs.crash(), 2);
    let mut bytes = [0; 8];
    assert_eq!(file.read_at(&CX, 0, &mut bytes).unwrap(), 4);
    assert_eq!((&bytes[..4], fs.crash()), (&b"safe"[..], 0));
}

#[test]
fn only_the_call_that_the_rule_counts_fails_and_nothing_was_written_by_it() {
    let (fs, plan) = with("write:error=nospace@2");
    let file = open(&fs);
    let write = |offset| file.write_at(&CX, offset, b"ab", Stability::File);
    assert!(write(0).is_ok());
    assert!(matches!(write(2), Err(Error::NoSpace)));
    assert_eq!(file.attributes(&CX).unwrap().size_bytes, 2);
    assert!(write(2).is_ok());
    assert_eq!((plan.calls(Operation::Write), plan.injected()), (3, 1));
}

#[test]
fn rule_from_the_nth_call_on_stays_in_force_until_it_is_replaced() {
    let (fs, plan) = with("sync:error=io@2+");
    let file = open(&fs);
    assert!(file.sync(&CX).is_ok());
    assert!((0..5).all(|_| matches!(file.sync(&CX), Err(Error::Io(_)))));
    plan.replace(Rules::default());
    assert!(file.sync(&CX).is_ok());
}

#[test]
fn short_write_says_how_much_it_wrote() {
    let (fs, _) = with("write:short=3");
    let file = open(&fs);
    assert_eq!(file.write_at(&CX, 0, b"abcdef", Stability::File).unwrap().count, 3);
    let mut bytes = [0; 10];
    assert_eq!(file.read_at(&CX, 0, &mut bytes).unwrap(), 3);
    assert_eq!(file.write_at(&CX, 3, b"de", Stability::File).unwrap().count, 2);
}

#[test]
fn rule_for_stable_writes_spares_unstable_ones_and_a_rule_for_all_meets_a_stable_write_once() {
    let (fs, plan) = with("stable_write:error=nospace");
    let file = open(&fs);
    let write = |stability| file.write_at(&CX, 0, b"ab", stability);
    assert!(write(Stability::Unstable).is_ok());
    assert!(matches!(write(Stability::Data), Err(Error::NoSpace)));
    assert!(matches!(file.write_parts_at(&CX, 0, &[b"a", b"b"], Stability::File), Err(Error::NoSpace)));
    plan.replace("any:error=io@2".parse::<Rules>().unwrap());
    assert!(write(Stability::File).is_ok());
    assert!(write(Stability::File).is_err());
}

#[test]
fn delay_holds_a_thread_that_may_wait_and_sends_away_one_that_may_not() {
    let (fs, plan) = with("read:delay=600s@2");
    let file = open(&fs);
    let read = |cx| file.read_at(cx, 0, &mut [0; 4]);
    assert!(read(&LOOP).is_ok());
    for _ in 0..3 {
        assert!(matches!(read(&LOOP), Err(Error::WouldBlock)), "and not ten minutes later");
    }
    assert_eq!((plan.calls(Operation::Read), plan.injected()), (1, 0));
    plan.replace("read:delay=30ms@2".parse::<Rules>().unwrap());
    assert!(read(&LOOP).is_ok());
    assert!(matches!(read(&LOOP), Err(Error::WouldBlock)));
    let start = Instant::now();
    assert!(read(&CX).is_ok());
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert!(read(&LOOP).is_ok());
    assert_eq!((plan.calls(Operation::Read), plan.injected()), (4, 1));
}

#[test]
fn would_block_meets_only_threads_that_may_not_wait() {
    let (fs, plan) = with("read:wouldblock");
    let file = open(&fs);
    assert!(matches!(file.read_at(&LOOP, 0, &mut [0; 4]), Err(Error::WouldBlock)));
    assert!(file.read_at(&CX, 0, &mut [0; 4]).is_ok());
    assert_eq!(plan.calls(Operation::Read), 1);
}

#[test]
fn call_that_the_inner_file_system_sends_away_is_not_counted_by_the_rules() {
    let inner = FaultFs::new(Arc::new(MemFs::new(MemOptions::default())), "attributes:wouldblock".parse().unwrap());
    let plan: FaultPlan = "attributes:error=io@2".parse().unwrap();
    let fs = FaultFs::new(Arc::new(inner), plan.clone());
    for _ in 0..3 {
        assert!(matches!(fs.attributes(&LOOP, &fs.root()), Err(Error::WouldBlock)));
    }
    assert!(fs.attributes(&CX, &fs.root()).is_ok());
    assert!(matches!(fs.attributes(&CX, &fs.root()), Err(Error::Io(_))));
    assert_eq!((plan.calls(Operation::Attributes), plan.injected()), (2, 1));
}

#[test]
fn rule_with_a_name_leaves_other_names_alone_and_knows_both_of_a_rename() {
    let (fs, _) = with("any(bad):error=denied");
    let create = |name| fs.create(&CX, place(&fs, name), CreateMode::Guarded, &SetAttributes::default());
    assert!(matches!(create("bad"), Err(Error::AccessDenied)));
    assert!(create("good").is_ok());
    let rename = |from, to| fs.rename(&CX, place(&fs, from), place(&fs, to));
    assert!(matches!(rename("good", "bad"), Err(Error::AccessDenied)));
    assert!(matches!(rename("bad", "good"), Err(Error::AccessDenied)));
    assert!(rename("good", "better").is_ok());
}

#[test]
fn same_seed_meets_the_same_calls_and_another_seed_meets_others() {
    let failures = |seed: u64| -> Vec<bool> {
        let (fs, _) = with(&format!("attributes:error=io%0.3,seed={seed}"));
        (0..200).map(|_| fs.attributes(&CX, &fs.root()).is_err()).collect()
    };
    assert_eq!(failures(1), failures(1));
    assert_ne!(failures(1), failures(2));
    assert!((30..90).contains(&failures(1).iter().filter(|failed| **failed).count()));
}

#[test]
fn every_operation_meets_rules_and_is_counted() {
    let (fs, plan) = with("");
    let (root, file) = (fs.root(), open(&fs));
    let attributes = fs.attributes(&CX, &root).unwrap();
    let set = SetAttributes::default();
    let at = place(&fs, "x");
    let range = CopyRange { from_bytes: 0, to_bytes: 1, length_bytes: 1 };
    let name = XattrName::new(b"x").unwrap();
    let acls = fs.acls(&CX, &root).unwrap();
    let xattr = SetXattr { name, value: b"", mode: XattrMode::Either };
    let all: [(Operation, &dyn Fn() -> Option<Error>); Operation::COUNT] = [
        (Operation::Attributes, &|| fs.attributes(&CX, &root).err()),
        (Operation::Access, &|| fs.access(&CX, &root, &attributes, Access::READ).err()),
        (Operation::SetAttributes, &|| fs.set_attributes(&CX, &root, &set).err()),
        (Operation::Lookup, &|| fs.lookup(&CX, at).err()),
        (Operation::Parent, &|| fs.parent(&CX, &root).err()),
        (Operation::ReadLink, &|| fs.read_link(&CX, &root).err()),
        (Operation::Open, &|| fs.open(&CX, &root, OpenMode::Read).err()),
        (Operation::ReadDir, &|| {
            let list = ReadDir { dir: &root, after: 0, detail: Detail::Names };
            fs.read_dir(&CX, list, &mut |_| ControlFlow::Continue(())).err()
        }),
        (Operation::Create, &|| fs.create(&CX, at, CreateMode::Guarded, &set).err()),
        (Operation::MakeNode, &|| fs.make_node(&CX, at, NewNode::Fifo, &set).err()),
        (Operation::Link, &|| fs.link(&CX, &root, at).err()),
        (Operation::Remove, &|| fs.remove(&CX, at).err()),
        (Operation::RemoveDir, &|| fs.remove_dir(&CX, at).err()),
        (Operation::Rename, &|| fs.rename(&CX, at, at).err()),
        (Operation::Space, &|| fs.space(&CX, &root).err()),
        (Operation::Read, &|| file.read_at(&CX, 0, &mut [0; 1]).err()),
        (Operation::Write, &|| file.write_at(&CX, 0, b"a", Stability::File).err()),
        (Operation::StableWrite, &|| file.write_at(&CX, 0, b"a", Stability::File).err()),
        (Operation::Sync, &|| file.sync(&CX).err()),
        (Operation::Seek, &|| file.seek(&CX, 0, Seek::Data).err()),
        (Operation::Allocate, &|| file.allocate(&CX, 0..1).err()),
        (Operation::Deallocate, &|| file.deallocate(&CX, 0..1).err()),
        (Operation::Copy, &|| file.copy_range(&CX, &*file, range).err()),
        (Operation::Clone, &|| file.clone_range(&CX, &*file, range).err()),
        (Operation::GetXattr, &|| fs.get_xattr(&CX, &root, name).err()),
        (Operation::SetXattr, &|| fs.set_xattr(&CX, &root, &xattr).err()),
        (Operation::ListXattrs, &|| fs.list_xattrs(&CX, &root).err()),
        (Operation::RemoveXattr, &|| fs.remove_xattr(&CX, &root, name).err()),
        (Operation::Acls, &|| fs.acls(&CX, &root).err()),
        (Operation::SetAcls, &|| fs.set_acls(&CX, &root, &acls).err()),
        (Operation::SyncAll, &|| fs.sync_all(&CX).err()),
    ];
    for ((operation, call), (_, name)) in all.iter().zip(Operation::ALL) {
        plan.replace(format!("{name}:error=quota").parse::<Rules>().unwrap());
        let before = plan.calls(*operation);
        assert!(matches!(call(), Some(Error::Quota)), "{name}");
        assert_eq!(plan.calls(*operation), before + 1, "{name}");
    }
}

#[test]
fn file_system_with_a_plan_says_that_it_may_wait() {
    let (fs, _) = with("");
    assert_eq!(fs.blocking(), Blocking::Sometimes);
}
