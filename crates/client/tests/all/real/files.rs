//! Files that tests make, and look at.

use bytes::Bytes;
use client::{Entry, Follow, Mount};
use vfs::{CreateMode, SetAttributes, Stability};

/// Makes a file of `size` bytes with this data in it.
pub async fn make(mount: &Mount, name: &[u8], size: u64, data: &[(u64, Vec<u8>)]) {
    let set = SetAttributes { mode: Some(0o640), ..SetAttributes::default() };
    let made = mount.create(&mount.root().handle, name, CreateMode::Guarded, &set).await.unwrap();
    for (offset, bytes) in data {
        let most = mount.sizes().write as usize;
        for (piece, at) in bytes.chunks(most).zip((*offset..).step_by(most)) {
            mount.write(&made.handle, at, Bytes::copy_from_slice(piece), Stability::File).await.unwrap();
        }
    }
    let set = SetAttributes { size_bytes: Some(size), ..SetAttributes::default() };
    mount.setattr(&made.handle, &set).await.unwrap();
}

pub async fn find(mount: &Mount, path: &str) -> Entry {
    mount.walk(path.as_bytes(), Follow::Nothing).await.unwrap()
}

/// All bytes of a file.
pub async fn bytes(mount: &Mount, path: &str) -> Vec<u8> {
    let file = find(mount, path).await;
    let mut all = vec![0; file.attributes.size_bytes as usize];
    let mut done = 0;
    while done < all.len() {
        done += mount.read_into(&file.handle, done as u64, &mut all[done..]).await.unwrap().count;
    }
    all
}

/// Bytes none of which is zero, and which differ from place to place.
pub fn pattern(length: u64) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    for (number, part) in bytes.chunks_mut(512).enumerate() {
        part.fill(((number ^ number >> 8) % 255) as u8 + 1);
    }
    bytes
}
