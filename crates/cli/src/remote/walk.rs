//! Walks over trees on servers, depth first: a directory, what is in it, and the directory again when it is left.
//! Symbolic links are not followed.

use client::{Detail, Entry};
use vfs::FileKind;

use super::{Session, about};
use crate::failure::Failure;

/// The maximum depth of a tree: twice that of a path of 4096 bytes.
pub const MAX_DEPTH: usize = 4096;

/// A file or directory of a walk.
#[derive(Debug, Clone)]
pub struct Node {
    /// The path on the server.
    pub path: Vec<u8>,
    /// The file.
    pub entry: Entry,
    /// The number of directories between it and the top of the walk.
    pub depth: usize,
}

/// A step of a walk.
#[derive(Debug)]
pub enum Step {
    /// A file that is no directory.
    File(Node),
    /// A directory, before its entries. [`Walk::skip`] leaves them out.
    Enter(Node),
    /// The same directory, after its entries.
    Leave(Node),
    /// A name that cannot be looked up, with its path and depth; the walk goes on.
    Unseen(Vec<u8>, usize, Failure),
    /// A directory that cannot be listed; the walk goes on.
    Failed(Failure),
}

/// A directory whose entries are being walked.
struct Open {
    node: Node,
    /// Its remaining entries, last one first: names, and the files if known.
    left: Vec<(Vec<u8>, Option<Entry>)>,
    is_listed: bool,
}

/// A walk over one tree. Each open directory is listed as a whole first, so that changes to it do not disturb the
/// listing.
pub struct Walk<'s> {
    session: &'s Session,
    top: Option<Node>,
    open: Vec<Open>,
}

impl<'s> Walk<'s> {
    /// A walk over the tree of `top`, a file of the session.
    pub fn new(session: &'s Session, top: Entry) -> Walk<'s> {
        Walk { session, top: Some(Node { path: session.path().to_vec(), entry: top, depth: 0 }), open: Vec::new() }
    }

    /// Leaves out the entries of the directory that was entered last.
    pub fn skip(&mut self) {
        if let Some(open) = self.open.last_mut() {
            (open.is_listed, open.left) = (true, Vec::new());
        }
    }

    /// The next step, or `None` at the end.
    pub async fn next(&mut self) -> Option<Step> {
        if let Some(top) = self.top.take() {
            return Some(self.visit(top));
        }
        loop {
            let depth = self.open.len();
            let open = self.open.last_mut()?;
            if !open.is_listed {
                open.is_listed = true;
                match list(self.session, &open.node, depth).await {
                    Ok(left) => open.left = left,
                    Err(failure) => return Some(Step::Failed(failure)),
                }
            }
            let Some((name, entry)) = open.left.pop() else {
                return self.open.pop().map(|open| Step::Leave(open.node));
            };
            let (dir, path) = (open.node.entry.handle, join(&open.node.path, &name));
            let found = match entry {
                Some(entry) => Ok(entry),
                None => self.session.mount.lookup(&dir, &name).await,
            };
            match found {
                Ok(entry) => return Some(self.visit(Node { path, entry, depth })),
                Err(error) if error.status() == Some(client::Status::NoEntry) => {}
                Err(error) => {
                    let failure = about(self.session.name_of(&path))(error);
                    return Some(Step::Unseen(path, depth, failure));
                }
            }
        }
    }

    fn visit(&mut self, node: Node) -> Step {
        if node.entry.attributes.kind != FileKind::Directory {
            return Step::File(node);
        }
        self.open.push(Open { node: node.clone(), left: Vec::new(), is_listed: false });
        Step::Enter(node)
    }
}

async fn list(session: &Session, dir: &Node, depth: usize) -> Result<Vec<(Vec<u8>, Option<Entry>)>, Failure> {
    let file = || session.name_of(&dir.path);
    if depth > MAX_DEPTH {
        return Err(Failure::TooDeep { file: file(), max: MAX_DEPTH });
    }
    let mut listing = session.mount.read_dir(&dir.entry.handle, Detail::Entries);
    let mut left = Vec::new();
    while let Some(found) = listing.next().await.map_err(about(file()))? {
        left.push((found.name.into_vec(), found.entry));
    }
    left.reverse();
    Ok(left)
}

/// The path of a name in a directory.
pub fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    [dir, b"/", name].concat()
}

impl Node {
    /// The last component of the path.
    pub fn name(&self) -> &[u8] {
        last_name(&self.path)
    }
}

/// The last component of a path.
pub fn last_name(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let start = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    &path[start..end]
}
