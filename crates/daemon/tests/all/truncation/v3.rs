use proto::Operation;
use proto::mount::{DirPath, Mnt3, Mnt3Reply};
use proto::nfs3::{DirOp, FileHandle, Lookup, LookupArgs, Read, ReadArgs, ReadOk, Res};
use rpc::Procedure;
use xdr::Decode;

use crate::raw::Wire;
use crate::truncation::{LEFT, READ_BYTES, READS, SIZE, Site, Told, check, offset_of, pattern};

fn procedure<O: Operation>() -> Procedure {
    Procedure { program: O::PROGRAM, version: O::VERSION, number: O::PROCEDURE }
}

fn file(wire: &mut Wire) -> FileHandle {
    wire.send(procedure::<Mnt3>(), &DirPath { path: b"/files" });
    let Mnt3Reply::Ok(mounted) = Mnt3Reply::decode(&mut wire.receive()).unwrap() else { panic!("not mounted") };
    wire.send(procedure::<Lookup>(), &LookupArgs { what: DirOp { dir: mounted.handle, name: b"file" } });
    match <Lookup as Operation>::Reply::decode(&mut wire.receive()).unwrap() {
        Res::Ok(found) => found.object,
        Res::Fail(status, _) => panic!("{status:?}"),
    }
}

fn ask(wire: &mut Wire, file: FileHandle, offset: usize, count: usize) {
    wire.send(procedure::<Read>(), &ReadArgs { file, offset: offset as u64, count: count as u32 });
}

fn take(wire: &mut Wire) -> ReadOk<'_> {
    match Res::<ReadOk<'_>, proto::nfs3::PostOpAttr>::decode(&mut wire.receive()).unwrap() {
        Res::Ok(read) => read,
        Res::Fail(status, _) => panic!("{status:?}"),
    }
}

#[test]
fn file_cut_under_pending_replies_leaves_them_whole_and_the_connection_in_step() {
    let Some(site) = Site::start("v3") else { return };
    let original = pattern();
    let mut wire = site.connect();
    let file = file(&mut wire);
    for number in 0..READS {
        ask(&mut wire, file, offset_of(number), READ_BYTES);
    }
    site.cut_when_stuck();
    for number in 0..READS {
        let read = take(&mut wire);
        assert_eq!(read.head.count as usize, read.data.len());
        let size = read.head.attributes.unwrap().size;
        assert!(size == SIZE as u64 || size == LEFT as u64, "READ {number} tells a size of {size}");
        check(number, &Told { data: read.data, eof: read.head.eof }, &original);
    }
    assert!(site.daemon.net_counters().zero_bytes > 0, "the cut overtook nothing");
    ask(&mut wire, file, LEFT - 10, 1000);
    let last = take(&mut wire);
    assert_eq!((last.data, last.head.eof), (&original[LEFT - 10..LEFT], true));
    assert_eq!(last.head.attributes.unwrap().size, LEFT as u64);
}
