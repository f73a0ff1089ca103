//! Clients and a server together: users make, move and remove names in directories that they share, through two mounts,
//! over streams and datagrams on which everything goes wrong, while the server restarts. Each sees his own names as he
//! left them all the time, and after the faults the server's tree, and both mounts' view of it, is what a model says.
//!
//! `WHARF_SEED` names the only seed to run, and `WHARF_SEEDS` how many are run; what fails says its seed.

mod model;
mod user;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use client::{Detail, Dir, Mount, Status, Transport, Version};
use fs_fault::FaultFs;
use fs_mem::MemFs;
use model::Node;
use user::User;
use vfs::{Attributes, Context, FileKind, FileSystem, Handle, ReadDir};

use crate::simulation::mounting;
use crate::simulation::seeds;
use crate::simulation::world::{self, World};
use crate::simulation_udp::datagrams::{self, Datagrams};

const SEEDS: u64 = 2;
/// Two of them share a mount.
const USERS: u64 = 3;
const OPERATIONS: u32 = 150;
const SHARED: [&str; 2] = ["left", "right"];
/// Longer than attributes are valid.
const UNTIL_ALL_IS_OLD: Duration = Duration::from_secs(120);

/// What is said of a path: its kind and target, and for files a number that all its names share.
type Tree = BTreeMap<String, Node>;

async fn simulate((version, transport): (Version, Transport), seed: u64) {
    let (world, url) = match transport {
        Transport::Tcp => (World::new(seed, mounting::troubles(version)), "nfs://192.0.2.1:2049/files".to_owned()),
        Transport::Udp => {
            let world = World::new(seed, world::Troubles::default());
            let address = Datagrams::start(&world, datagrams::TROUBLES).await;
            (world, format!("nfs://{address}/files"))
        }
    };
    let ticking = tokio::spawn(Arc::clone(&world).tick());
    let usual = mounting::options(version, seed, &world);
    // Over datagrams the library's own time-outs do.
    let timeout = if transport == Transport::Tcp { usual.timeout } else { None };
    let options = client::Options { transport, timeout, ..usual };
    let mounts = [
        mounting::mount(&url.parse().unwrap(), &options).await,
        mounting::mount(&url.parse().unwrap(), &options).await,
    ];
    make_shared(&mounts[0].root_dir()).await;
    let mut running = Vec::new();
    for number in 0..USERS {
        let root = mounts[number as usize % mounts.len()].root_dir();
        let mut user = User::new(&world, root, (number, seed), &SHARED);
        running.push(tokio::spawn(async move {
            user.run(OPERATIONS).await;
            user.model
        }));
    }
    let mut expected = Tree::new();
    for (number, task) in running.into_iter().enumerate() {
        // Numbers of files are each user's own.
        let told_apart =
            |node| if let Node::File(file) = node { Node::File(file * USERS + number as u64) } else { node };
        expected.extend(task.await.unwrap().nodes.into_iter().map(|(path, node)| (path, told_apart(node))));
    }
    world.calm();
    let expected = renumbered(expected);
    assert_eq!(renumbered(on_server(&world.files)), expected, "what the server has");
    tokio::time::sleep(UNTIL_ALL_IS_OLD).await;
    for mount in &mounts {
        assert_eq!(renumbered(seen(mount).await), expected, "what a mount sees");
    }
    println!("{version}: {} starts", world.boot());
    ticking.abort();
}

/// Makes the directories that all share. One that was made and whose reply was lost is there.
async fn make_shared(root: &Dir) {
    for name in SHARED {
        match root.create_dir(name, 0o777).await {
            Err(error) if error.status() == Some(Status::Exists) => {}
            other => drop(other.unwrap()),
        }
    }
}

/// Gives files numbers in the order of their first names.
fn renumbered(tree: Tree) -> Tree {
    let mut numbers = BTreeMap::new();
    let mut renumber = |node| match node {
        Node::File(file) => {
            let next = numbers.len() as u64;
            Node::File(*numbers.entry(file).or_insert(next))
        }
        other => other,
    };
    tree.into_iter().map(|(path, node)| (path, renumber(node))).collect()
}

fn node(attributes: &Attributes, target: impl FnOnce() -> Vec<u8>) -> Node {
    match attributes.kind {
        FileKind::Directory => Node::Dir,
        FileKind::Symlink => Node::Symlink(String::from_utf8(target()).unwrap()),
        _ => Node::File(attributes.fileid),
    }
}

/// The tree below the shared directories, as it is.
fn on_server(files: &FaultFs<MemFs>) -> Tree {
    let (mut tree, mut dirs) = (Tree::new(), vec![(String::new(), files.root())]);
    while let Some((path, dir)) = dirs.pop() {
        for (name, handle, attributes) in listed(files, &dir) {
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            let node = node(&attributes, || files.read_link(&Context::ROOT, &handle).unwrap());
            if node == Node::Dir {
                dirs.push((path.clone(), handle));
            }
            tree.insert(path, node);
        }
    }
    SHARED.iter().for_each(|name| assert_eq!(tree.remove(*name), Some(Node::Dir)));
    tree
}

fn listed(files: &FaultFs<MemFs>, dir: &Handle) -> Vec<(String, Handle, Attributes)> {
    let mut entries = Vec::new();
    let all = ReadDir { dir, after: 0, detail: vfs::Detail::Entries };
    let listing = files.read_dir(&Context::ROOT, all, &mut |entry| {
        let found = entry.entry.unwrap();
        entries.push((String::from_utf8(entry.name.to_vec()).unwrap(), found.handle, found.attributes));
        ControlFlow::Continue(())
    });
    listing.unwrap();
    entries
}

/// The same as a mount sees it.
async fn seen(mount: &Mount) -> Tree {
    let root = mount.root_dir();
    let (mut tree, mut dirs) = (Tree::new(), SHARED.map(str::to_owned).to_vec());
    while let Some(path) = dirs.pop() {
        let mut entries = root.open_dir(&path).await.unwrap().read_dir(Detail::Names);
        while let Some(entry) = entries.next().await.unwrap() {
            let path = format!("{path}/{}", std::str::from_utf8(&entry.name).unwrap());
            let attributes = root.symlink_metadata(&path).await.unwrap();
            let target = match attributes.kind {
                FileKind::Symlink => root.read_link(&path).await.unwrap(),
                _ => Vec::new(),
            };
            let node = node(&attributes, || target);
            if node == Node::Dir {
                dirs.push(path.clone());
            }
            tree.insert(path, node);
        }
    }
    tree
}

fn run(version: Version, transport: Transport) {
    seeds::run_each(SEEDS, async |seed| simulate((version, transport), seed).await);
}

#[test]
fn names_are_what_users_made_them_over_nfsv2() {
    run(Version::V2, Transport::Tcp);
}

#[test]
fn names_are_what_users_made_them_over_nfsv2_in_datagrams() {
    run(Version::V2, Transport::Udp);
}

#[test]
fn names_are_what_users_made_them_over_nfsv3() {
    run(Version::V3, Transport::Tcp);
}

#[test]
fn names_are_what_users_made_them_over_nfsv3_in_datagrams() {
    run(Version::V3, Transport::Udp);
}

#[test]
fn names_are_what_users_made_them_over_nfsv4_0() {
    run(Version::V4_0, Transport::Tcp);
}

#[test]
fn names_are_what_users_made_them_over_nfsv4_1() {
    run(Version::V4_1, Transport::Tcp);
}

#[test]
fn names_are_what_users_made_them_over_nfsv4_2() {
    run(Version::V4_2, Transport::Tcp);
}
