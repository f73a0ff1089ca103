//! Applications with files, and the comparison of the server's files with what they know.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::Mount;
use fs_fault::FaultFs;
use fs_mem::MemFs;
use vfs::{Context, FileSystem, Name, OpenMode, Place};

use crate::simulation::actor::Actor;
use crate::simulation::world::World;

const ACTORS: u64 = 2;
const OPERATIONS: u32 = 120;

/// Lets applications work on a mount while everything goes wrong, and compares when all is calm again.
pub async fn work(world: &Arc<World>, mount: &Mount, seed: u64) {
    let mut running = Vec::new();
    for number in 0..ACTORS {
        let mut actor = Actor::new(world, mount, number, seed).await;
        running.push(tokio::spawn(async move {
            actor.run(OPERATIONS).await;
            actor
        }));
    }
    let mut actors = Vec::new();
    for task in running {
        actors.push(task.await.unwrap());
    }
    world.calm();
    for (number, actor) in actors.into_iter().enumerate() {
        let expected = actor.finish().await;
        assert!(expected == found(&world.files, &format!("actor-{number}")), "the files of actor {number}");
    }
    println!("{}: {} starts, {} writes lost", mount.version(), world.boot(), world.lost_writes());
}

/// The files of a directory of the server, as they are there.
fn found(files: &FaultFs<MemFs>, dir: &str) -> BTreeMap<&'static str, Vec<u8>> {
    let look = |dir, name: &str| {
        let name = Name::new(name.as_bytes()).unwrap();
        files.lookup(&Context::ROOT, Place { dir, name }).ok()
    };
    let dir = look(files.root(), dir).unwrap().handle;
    let read = |name: &&'static str| {
        let entry = look(dir, name)?;
        let mut bytes = vec![0; entry.attributes.size_bytes as usize];
        let file = files.open(&Context::ROOT, &entry.handle, OpenMode::Read).unwrap();
        assert_eq!(file.read_at(&Context::ROOT, 0, &mut bytes).unwrap(), bytes.len());
        Some((*name, bytes))
    };
    ["one", "two", "three"].iter().filter_map(read).collect()
}
