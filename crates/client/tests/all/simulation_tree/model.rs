//! What a user knows of his own names in a tree that several share.

use std::collections::{BTreeMap, BTreeSet};

use client::Status;

/// What a path leads to. Several paths may lead to one file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    File(u64),
    Dir,
    Symlink(String),
}

#[derive(Default)]
pub struct Model {
    /// Every path of this user's, from the root on.
    pub nodes: BTreeMap<String, Node>,
    /// Directories that all share.
    pub shared: BTreeSet<String>,
    files: u64,
}

/// What an operation must say: that it is done, or one of these.
pub type Expected = Result<(), &'static [Status]>;

impl Model {
    pub fn new(shared: impl Iterator<Item = String>) -> Model {
        Model { shared: shared.collect(), ..Model::default() }
    }

    /// All directories there are for this user.
    pub fn dirs(&self) -> Vec<String> {
        let own = self.nodes.iter().filter(|(_, node)| **node == Node::Dir).map(|(path, _)| path.clone());
        self.shared.iter().cloned().chain(own).collect()
    }

    /// The names that this user has in a directory.
    pub fn names_in(&self, dir: &str) -> BTreeSet<String> {
        let paths = self.nodes.keys().filter_map(|path| path.rsplit_once('/'));
        paths.filter(|(parent, _)| *parent == dir).map(|(_, name)| name.to_owned()).collect()
    }

    /// How many paths lead to a file.
    pub fn links(&self, node: &Node) -> usize {
        self.nodes.values().filter(|other| *other == node).count()
    }

    fn is_empty_dir(&self, path: &str) -> bool {
        self.names_in(path).is_empty()
    }

    pub fn create(&mut self, path: &str) -> Expected {
        self.files += 1;
        self.add(path, Node::File(self.files))
    }

    pub fn add(&mut self, path: &str, node: Node) -> Expected {
        if self.nodes.contains_key(path) {
            return Err(&[Status::Exists]);
        }
        self.nodes.insert(path.to_owned(), node);
        Ok(())
    }

    pub fn link(&mut self, path: &str, to: &str) -> Expected {
        let node = self.nodes.get(path).cloned().ok_or(&[Status::NoEntry][..])?;
        self.add(to, node)
    }

    pub fn remove(&mut self, path: &str) -> Expected {
        match self.nodes.get(path) {
            None => Err(&[Status::NoEntry]),
            Some(Node::Dir) => Err(&[Status::IsDirectory]),
            Some(_) => {
                self.nodes.remove(path);
                Ok(())
            }
        }
    }

    pub fn remove_dir(&mut self, path: &str) -> Expected {
        match self.nodes.get(path) {
            None => Err(&[Status::NoEntry]),
            Some(Node::Dir) if self.is_empty_dir(path) => {
                self.nodes.remove(path);
                Ok(())
            }
            Some(Node::Dir) => Err(&[Status::NotEmpty]),
            Some(_) => Err(&[Status::NotDirectory]),
        }
    }

    pub fn rename(&mut self, from: &str, to: &str) -> Expected {
        let node = self.nodes.get(from).cloned().ok_or(&[Status::NoEntry][..])?;
        match (&node, self.nodes.get(to)) {
            (_, None) => {}
            // Two names of one file stay (RFC 1813 §3.3.14).
            (Node::File(_) | Node::Symlink(_), Some(there)) if *there == node => return Ok(()),
            (Node::Dir, Some(Node::Dir)) if from == to => return Ok(()),
            (Node::Dir, Some(Node::Dir)) if self.is_empty_dir(to) => {}
            (Node::Dir, Some(_)) | (_, Some(Node::Dir)) => {
                return Err(&[Status::Exists, Status::NotEmpty, Status::NotDirectory, Status::IsDirectory]);
            }
            _ => {}
        }
        let inside = format!("{from}/");
        let moved: Vec<String> = self.nodes.keys().filter(|path| path.starts_with(&inside)).cloned().collect();
        self.nodes.remove(from);
        self.nodes.insert(to.to_owned(), node);
        for path in moved {
            let node = self.nodes.remove(&path);
            node.into_iter().for_each(|node| drop(self.nodes.insert(format!("{to}{}", &path[from.len()..]), node)));
        }
        Ok(())
    }
}
