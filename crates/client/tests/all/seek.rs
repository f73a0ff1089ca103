//! Finding data and holes as lseek(2) does, in every version.

use client::{OpenOptions, Version};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::real::Export;

const MIB: u64 = 1 << 20;

#[tokio::test]
async fn data_and_holes_are_found_and_the_end_is_no_place_for_either() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    let options = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
    let file = mount.open(&mount.root().handle, b"sparse", &options).await.unwrap();
    for nowhere in [file.seek_data(0).await, file.seek_hole(0).await, file.seek_hole(7).await] {
        assert_eq!(nowhere.unwrap(), None, "an empty file has nothing");
    }
    file.write(MIB, vec![7; 4096].into(), Stability::File).await.unwrap();
    file.write(3 * MIB, vec![7; 4096].into(), Stability::File).await.unwrap();
    file.setattr(&SetAttributes { size_bytes: Some(4 * MIB), ..SetAttributes::default() }).await.unwrap();
    for (from, data, hole) in [
        (0, Some(MIB), Some(0)),
        (MIB, Some(MIB), Some(MIB + 4096)),
        (MIB + 4096, Some(3 * MIB), Some(MIB + 4096)),
        (3 * MIB + 10, Some(3 * MIB + 10), Some(3 * MIB + 4096)),
        (4 * MIB - 1, None, Some(4 * MIB - 1)),
        (4 * MIB, None, None),
        (u64::MAX / 2, None, None),
    ] {
        assert_eq!(file.seek_data(from).await.unwrap(), data, "data from {from} on");
        assert_eq!(file.seek_hole(from).await.unwrap(), hole, "hole from {from} on");
    }
}

#[tokio::test]
async fn where_nobody_can_tell_all_is_data() {
    let export = Export::start();
    for version in [Version::V2, Version::V3, Version::V4_0, Version::V4_1] {
        let mount = export.mount(version).await;
        let options = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
        let file = mount.open(&mount.root().handle, b"sparse", &options).await.unwrap();
        file.write(MIB, "end".into(), Stability::File).await.unwrap();
        for (from, data, hole) in
            [(0, Some(0), Some(MIB + 3)), (MIB, Some(MIB), Some(MIB + 3)), (MIB + 3, None, None), (MIB + 4, None, None)]
        {
            assert_eq!(file.seek_data(from).await.unwrap(), data, "{version}: data from {from} on");
            assert_eq!(file.seek_hole(from).await.unwrap(), hole, "{version}: hole from {from} on");
        }
    }
}
