//! What clients do, and its bytes in both versions.

use proto::{nfs2, nfs3};

use crate::simulation::model::{Model, NodeId};
use testing::caller::Caller;

/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    pub dir: NodeId,
    pub name: &'static str,
}

/// How a file is created; version 2 knows only the first way.
#[derive(Debug, Clone, Copy)]
pub enum How {
    Unchecked { cut: bool },
    Guarded,
    Exclusive([u8; 8]),
}

/// One operation.
#[derive(Debug, Clone)]
pub enum Operation {
    Create(Spot, How),
    Mkdir(Spot),
    Symlink(Spot),
    Remove(Spot),
    Rmdir(Spot),
    Rename(Spot, Spot),
    Link(NodeId, Spot),
    SetSize(NodeId, u32),
    Write(NodeId, u32, Vec<u8>),
    Read(NodeId),
    Lookup(Spot),
}

/// The target of every symbolic link.
pub const TARGET: &[u8] = b"target";
/// More bytes than any file has here.
pub const READ_BYTES: u32 = 4096;

impl Operation {
    /// Whether it must not happen twice over datagrams.
    pub fn happens_once(&self) -> bool {
        !matches!(self, Operation::Read(_) | Operation::Lookup(_))
    }

    /// The bytes of a call of version 3.
    pub fn message3(&self, caller: &Caller<'_>, model: &Model) -> Vec<u8> {
        let handle = |node: NodeId| nfs3::FileHandle::new(model.handle(node)).unwrap();
        let at = |spot: &Spot| nfs3::DirOp { dir: handle(spot.dir), name: spot.name.as_bytes() };
        let attributes = nfs3::Sattr::default();
        match self {
            Operation::Create(spot, how) => {
                let how = match *how {
                    How::Unchecked { cut } => {
                        nfs3::CreateHow::Unchecked(nfs3::Sattr { size: cut.then_some(0), ..attributes })
                    }
                    How::Guarded => nfs3::CreateHow::Guarded(attributes),
                    How::Exclusive(verifier) => nfs3::CreateHow::Exclusive(verifier),
                };
                caller.message::<nfs3::Create>(&nfs3::CreateArgs { place: at(spot), how })
            }
            Operation::Mkdir(spot) => caller.message::<nfs3::Mkdir>(&nfs3::MkdirArgs { place: at(spot), attributes }),
            Operation::Symlink(spot) => {
                caller.message::<nfs3::Symlink>(&nfs3::SymlinkArgs { place: at(spot), attributes, target: TARGET })
            }
            Operation::Remove(spot) => caller.message::<nfs3::Remove>(&nfs3::RemoveArgs { object: at(spot) }),
            Operation::Rmdir(spot) => caller.message::<nfs3::Rmdir>(&nfs3::RmdirArgs { object: at(spot) }),
            Operation::Rename(from, to) => {
                caller.message::<nfs3::Rename>(&nfs3::RenameArgs { from: at(from), to: at(to) })
            }
            Operation::Link(file, spot) => {
                caller.message::<nfs3::Link>(&nfs3::LinkArgs { file: handle(*file), link: at(spot) })
            }
            Operation::SetSize(file, size) => {
                let attributes = nfs3::Sattr { size: Some(u64::from(*size)), ..attributes };
                caller.message::<nfs3::Setattr>(&nfs3::SetattrArgs { object: handle(*file), attributes, guard: None })
            }
            Operation::Write(file, offset, data) => caller.message::<nfs3::Write>(&nfs3::WriteArgs {
                file: handle(*file),
                offset: u64::from(*offset),
                count: data.len() as u32,
                stable: nfs3::StableHow::Unstable,
                data,
            }),
            Operation::Read(file) => {
                let args = nfs3::ReadArgs { file: handle(*file), offset: 0, count: READ_BYTES };
                caller.message::<nfs3::Read>(&args)
            }
            Operation::Lookup(spot) => caller.message::<nfs3::Lookup>(&nfs3::LookupArgs { what: at(spot) }),
        }
    }

    /// The bytes of a call of version 2.
    pub fn message2(&self, caller: &Caller<'_>, model: &Model) -> Vec<u8> {
        let handle = |node: NodeId| nfs2::FileHandle(*model.handle(node));
        let at = |spot: &Spot| nfs2::DirOp { dir: handle(spot.dir), name: spot.name.as_bytes() };
        let attributes = nfs2::Sattr { mode: Some(0o644), ..nfs2::Sattr::default() };
        match self {
            Operation::Create(spot, how) => {
                let size = matches!(how, How::Unchecked { cut: true }).then_some(0);
                let args = nfs2::CreateArgs { place: at(spot), attributes: nfs2::Sattr { size, ..attributes } };
                caller.message::<nfs2::Create>(&args)
            }
            Operation::Mkdir(spot) => caller.message::<nfs2::Mkdir>(&nfs2::CreateArgs { place: at(spot), attributes }),
            Operation::Symlink(spot) => {
                caller.message::<nfs2::Symlink>(&nfs2::SymlinkArgs { place: at(spot), target: TARGET, attributes })
            }
            Operation::Remove(spot) => caller.message::<nfs2::Remove>(&nfs2::RemoveArgs { object: at(spot) }),
            Operation::Rmdir(spot) => caller.message::<nfs2::Rmdir>(&nfs2::RmdirArgs { object: at(spot) }),
            Operation::Rename(from, to) => {
                caller.message::<nfs2::Rename>(&nfs2::RenameArgs { from: at(from), to: at(to) })
            }
            Operation::Link(file, spot) => {
                caller.message::<nfs2::Link>(&nfs2::LinkArgs { file: handle(*file), link: at(spot) })
            }
            Operation::SetSize(file, size) => {
                let attributes = nfs2::Sattr { size: Some(*size), ..nfs2::Sattr::default() };
                caller.message::<nfs2::Setattr>(&nfs2::SetattrArgs { file: handle(*file), attributes })
            }
            Operation::Write(file, offset, data) => {
                let (file, offset) = (handle(*file), *offset);
                caller.message::<nfs2::Write>(&nfs2::WriteArgs { file, begin_offset: 0, offset, total_count: 0, data })
            }
            Operation::Read(file) => {
                let args = nfs2::ReadArgs { file: handle(*file), offset: 0, count: READ_BYTES, total_count: 0 };
                caller.message::<nfs2::Read>(&args)
            }
            Operation::Lookup(spot) => caller.message::<nfs2::Lookup>(&nfs2::LookupArgs { what: at(spot) }),
        }
    }
}
