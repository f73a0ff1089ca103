//! A server whose READ_PLUS tells of no data.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod fake;
mod fake4;

use client::{Mount, OpenOptions, Options, Version};
use proto::nfs4::{ArgOp, ReadHead, ReadOk, ReadPlusOk, Res, ResOp};

#[tokio::test]
async fn end_of_a_file_without_any_data_before_it_is_asked_for_once_more_with_read() {
    let (address, fake) = fake4::start(|operation, _| match operation {
        ArgOp::ReadPlus(_) => Some(ResOp::ReadPlus(Res::Ok(ReadPlusOk { eof: true, segments: Vec::new() }))),
        ArgOp::Read(args) => {
            let data: &[u8] = if args.offset == 0 { b"there" } else { b"" };
            Some(ResOp::Read(Res::Ok(ReadOk { head: ReadHead { eof: true }, data })))
        }
        _ => None,
    })
    .await;
    let options = Options { version: Version::V4_2, ..fake4::options() };
    let mount = Mount::connect(&format!("nfs://{address}/").parse().unwrap(), &options).await.unwrap();
    let file = mount.open(&mount.root().handle, b"file", &OpenOptions::read()).await.unwrap();
    assert!(file.read(100, 10).await.unwrap().bytes.is_empty());
    assert!(mount.uses_read_plus(), "that was the end");
    assert_eq!(file.read(0, 10).await.unwrap().bytes.as_ref(), b"there");
    assert!(!mount.uses_read_plus(), "that was not");
    file.read(0, 10).await.unwrap();
    assert_eq!((fake.count("ReadPlus"), fake.count("Read")), (2, 3));
}
