//! Servers whose READ_PLUS brings nothing, or what makes no sense: files are read with READ then.

use client::{File, Mount, OpenOptions, Options, Version};
use proto::nfs4::{ArgOp, ReadHead, ReadOk, ReadPlusOk, ReadPlusSegment, Res, ResOp};

use crate::fake4;

const DATA: &[u8] = b"there";

/// A file of [`DATA`] at a server that answers READ_PLUS like this.
async fn open(read_plus: fn() -> ReadPlusOk<'static>) -> (Mount, File, std::sync::Arc<fake4::Fake>) {
    let (address, fake) = fake4::start(move |operation, _| match operation {
        ArgOp::ReadPlus(_) => Some(ResOp::ReadPlus(Res::Ok(read_plus()))),
        ArgOp::Read(args) => {
            let data = DATA.get(args.offset as usize..).unwrap_or_default();
            Some(ResOp::Read(Res::Ok(ReadOk { head: ReadHead { eof: true }, data })))
        }
        _ => None,
    })
    .await;
    let options = Options { version: Version::V4_2, ..fake4::options() };
    let mount = Mount::connect(&format!("nfs://{address}/").parse().unwrap(), &options).await.unwrap();
    let file = mount.open(&mount.root().handle, b"file", &OpenOptions::read()).await.unwrap();
    (mount, file, fake)
}

#[tokio::test]
async fn end_of_a_file_without_any_data_before_it_is_asked_for_once_more_with_read() {
    let (mount, file, fake) = open(|| ReadPlusOk { eof: true, segments: Vec::new() }).await;
    assert!(file.read(100, 10).await.unwrap().bytes.is_empty());
    assert!(mount.uses_read_plus(), "that was the end");
    assert_eq!(file.read(0, 10).await.unwrap().bytes.as_ref(), DATA);
    assert!(!mount.uses_read_plus(), "that was not");
    file.read(0, 10).await.unwrap();
    assert_eq!((fake.count("ReadPlus"), fake.count("Read")), (2, 3));
}

#[tokio::test]
async fn reply_that_makes_no_sense_is_asked_for_once_more_with_read() {
    let replies: [fn() -> ReadPlusOk<'static>; 3] = [
        // NFS-Ganesha 4.3, of a file with data and holes.
        || ReadPlusOk { eof: false, segments: vec![ReadPlusSegment::Data { offset: 0, data: b"" }] },
        || ReadPlusOk { eof: false, segments: Vec::new() },
        || ReadPlusOk { eof: true, segments: vec![ReadPlusSegment::Hole { offset: 3, length: 2 }] },
    ];
    for reply in replies {
        let (mount, file, fake) = open(reply).await;
        let mut buffer = [0; 10];
        assert_eq!(file.read_at(0, &mut buffer).await.unwrap(), DATA.len());
        assert_eq!(&buffer[..DATA.len()], DATA);
        assert_eq!(file.read(0, 10).await.unwrap().bytes.as_ref(), DATA);
        assert!(!mount.uses_read_plus());
        assert_eq!(fake.count("ReadPlus"), 1);
    }
}
