//! A tree of files as simple as can be: what the server must agree with.

use std::collections::BTreeMap;

use proto::nfs2;
use proto::nfs3::Status;

use crate::simulation::operation::{How, Operation, Spot};

pub type NodeId = usize;

/// A handle as version 2 carries it, with zeros behind; version 3 may send it like that too.
pub type Handle = [u8; nfs2::FileHandle::BYTES];

#[derive(Debug)]
pub enum Kind {
    File(Vec<u8>),
    Dir(BTreeMap<&'static str, NodeId>),
    Symlink,
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    /// How many names lead here; a node without any is gone.
    names: u32,
    /// The server's handle, once a reply has told it.
    handle: Option<Handle>,
}

/// What an operation comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// The file that a reply to CREATE, MKDIR or LOOKUP tells of.
    pub told: Option<NodeId>,
    /// The bytes that a reply to READ tells.
    pub read: Option<Vec<u8>>,
}

#[derive(Debug)]
pub struct Model {
    nodes: Vec<Node>,
}

pub const ROOT: NodeId = 0;

type Result<T> = std::result::Result<T, Status>;

impl Model {
    pub fn new(root_handle: &[u8]) -> Model {
        let root = Node { kind: Kind::Dir(BTreeMap::new()), names: 1, handle: None };
        let mut model = Model { nodes: vec![root] };
        model.learn_handle(ROOT, root_handle);
        model
    }

    /// The handle of a node that a client was told of.
    pub fn handle(&self, node: NodeId) -> &Handle {
        self.nodes[node].handle.as_ref().expect("clients use only files that they were told of")
    }

    pub fn learn_handle(&mut self, node: NodeId, handle: &[u8]) {
        let mut padded = [0; nfs2::FileHandle::BYTES];
        padded[..handle.len()].copy_from_slice(handle);
        assert_eq!(self.nodes[node].handle.get_or_insert(padded), &padded, "a file has one handle");
    }

    /// The files, or the directories, that clients were told of, gone ones included.
    pub fn known(&self, is_wanted: impl Fn(&Kind) -> bool) -> Vec<NodeId> {
        let is_known = |id: &NodeId| self.nodes[*id].handle.is_some() && is_wanted(&self.nodes[*id].kind);
        (0..self.nodes.len()).filter(is_known).collect()
    }

    pub fn kind(&self, node: NodeId) -> &Kind {
        &self.nodes[node].kind
    }

    /// Carries an operation out.
    pub fn apply(&mut self, operation: &Operation) -> Result<Effect> {
        let told = |node| Effect { told: Some(node), read: None };
        match operation {
            Operation::Create(spot, how) => self.create(*spot, *how).map(told),
            Operation::Mkdir(spot) => self.make(*spot, Kind::Dir(BTreeMap::new())).map(told),
            Operation::Symlink(spot) => self.make(*spot, Kind::Symlink).map(|_| Effect::default()),
            Operation::Remove(spot) => self.remove(*spot, false),
            Operation::Rmdir(spot) => self.remove(*spot, true),
            Operation::Rename(from, to) => self.rename(*from, *to),
            Operation::Link(file, spot) => self.link(*file, *spot),
            Operation::SetSize(file, size) => {
                self.file(*file)?.resize(*size as usize, 0);
                Ok(Effect::default())
            }
            Operation::Write(file, offset, data) => self.write(*file, *offset as usize, data),
            Operation::Read(file) => Ok(Effect { told: None, read: Some(self.file(*file)?.clone()) }),
            Operation::Lookup(spot) => self.find(*spot)?.ok_or(Status::NoEnt).map(told),
        }
    }

    fn dir(&mut self, dir: NodeId) -> Result<&mut BTreeMap<&'static str, NodeId>> {
        match &mut self.nodes[dir] {
            Node { names: 0, .. } => Err(Status::Stale),
            Node { kind: Kind::Dir(entries), .. } => Ok(entries),
            _ => Err(Status::NotDir),
        }
    }

    fn file(&mut self, file: NodeId) -> Result<&mut Vec<u8>> {
        match &mut self.nodes[file] {
            Node { names: 0, .. } => Err(Status::Stale),
            Node { kind: Kind::File(bytes), .. } => Ok(bytes),
            _ => Err(Status::Inval),
        }
    }

    fn is_dir(&self, node: NodeId) -> bool {
        matches!(self.nodes[node].kind, Kind::Dir(_))
    }

    fn find(&mut self, spot: Spot) -> Result<Option<NodeId>> {
        Ok(self.dir(spot.dir)?.get(spot.name).copied())
    }

    fn make(&mut self, spot: Spot, kind: Kind) -> Result<NodeId> {
        if self.find(spot)?.is_some() {
            return Err(Status::Exist);
        }
        let id = self.nodes.len();
        self.nodes.push(Node { kind, names: 1, handle: None });
        self.dir(spot.dir)?.insert(spot.name, id);
        Ok(id)
    }

    fn create(&mut self, spot: Spot, how: How) -> Result<NodeId> {
        match (self.find(spot)?, how) {
            (None, _) => self.make(spot, Kind::File(Vec::new())),
            (Some(existing), How::Unchecked { cut }) => {
                let bytes = self.file(existing).map_err(|_| Status::Exist)?;
                if cut {
                    bytes.clear();
                }
                Ok(existing)
            }
            (Some(_), How::Guarded | How::Exclusive(_)) => Err(Status::Exist),
        }
    }

    fn write(&mut self, file: NodeId, offset: usize, data: &[u8]) -> Result<Effect> {
        let bytes = self.file(file)?;
        let end = offset + data.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset..end].copy_from_slice(data);
        Ok(Effect::default())
    }

    fn remove(&mut self, spot: Spot, wants_dir: bool) -> Result<Effect> {
        let victim = self.find(spot)?.ok_or(Status::NoEnt)?;
        match (self.is_dir(victim), wants_dir) {
            (true, false) => return Err(Status::IsDir),
            (false, true) => return Err(Status::NotDir),
            _ => {}
        }
        self.lose_name(victim)?;
        self.dir(spot.dir)?.remove(spot.name);
        Ok(Effect::default())
    }

    fn lose_name(&mut self, node: NodeId) -> Result<()> {
        if matches!(&self.nodes[node].kind, Kind::Dir(entries) if !entries.is_empty()) {
            return Err(Status::NotEmpty);
        }
        self.nodes[node].names -= 1;
        Ok(())
    }

    fn link(&mut self, file: NodeId, spot: Spot) -> Result<Effect> {
        self.dir(spot.dir)?;
        match &self.nodes[file] {
            Node { names: 0, .. } => return Err(Status::Stale),
            Node { kind: Kind::Dir(_), .. } => return Err(Status::IsDir),
            _ => {}
        }
        if self.find(spot)?.is_some() {
            return Err(Status::Exist);
        }
        self.nodes[file].names += 1;
        self.dir(spot.dir)?.insert(spot.name, file);
        Ok(Effect::default())
    }

    fn rename(&mut self, from: Spot, to: Spot) -> Result<Effect> {
        self.dir(from.dir)?;
        self.dir(to.dir)?;
        let moved = self.find(from)?.ok_or(Status::NoEnt)?;
        if from.dir != to.dir && self.is_dir(moved) && self.is_below(to.dir, moved) {
            return Err(Status::Inval);
        }
        if let Some(victim) = self.find(to)? {
            match (self.is_dir(victim), self.is_dir(moved)) {
                _ if victim == moved => return Ok(Effect::default()),
                (true, false) => return Err(Status::IsDir),
                (false, true) => return Err(Status::NotDir),
                _ => self.lose_name(victim)?,
            }
        }
        self.dir(from.dir)?.remove(from.name);
        self.dir(to.dir)?.insert(to.name, moved);
        Ok(Effect::default())
    }

    /// Whether `node` is `top` or somewhere below it.
    fn is_below(&self, node: NodeId, top: NodeId) -> bool {
        let Kind::Dir(entries) = &self.nodes[top].kind else { return false };
        node == top || entries.values().any(|child| self.is_dir(*child) && self.is_below(node, *child))
    }
}
