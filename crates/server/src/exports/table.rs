use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use state::FileKey;
use vfs::{FileSystem, Handle, Origin};

use super::pseudo::PseudoTree;
use super::{AccessRule, Claim, ClientPattern, Export, ExportOptions, Squash};
use crate::handle::{ExportTag, HandleError, HandleKey, WireHandle};

/// All exports at one time. A reload makes a new table; requests that are under way keep the one they began with.
#[derive(Debug)]
pub struct ExportTable {
    exports: Vec<Arc<Exported>>,
    by_name: HashMap<Vec<u8>, usize>,
    /// Where in `exports` those of a tag are, in the order of the tags: nearly always there is one export or a few.
    by_tag: Vec<(ExportTag, usize)>,
    key: HandleKey,
    tree: Arc<PseudoTree>,
    /// The tree as an export of its own, whose handles are told from the others'.
    root: Arc<Exported>,
}

/// An export with what its handles carry.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) export: Export,
    pub(crate) tag: ExportTag,
    /// The export's own key, made of the server's key and the export's identity.
    key: HandleKey,
    /// What files of this export say their file system is, mixed with what the file system says.
    pub(crate) fsid: u64,
    /// What the locks and opens of its files are kept under: the same for all exports of one storage.
    storage: u64,
}

impl Exported {
    /// The tree that leads to the exports, for everybody to read.
    fn root(tree: Arc<PseudoTree>, key: &HandleKey) -> Exported {
        const IDENTITY: &[u8] = b"tree";
        let options = ExportOptions { read_only: true, squash: Squash::None, ..ExportOptions::default() };
        let rules = vec![AccessRule { clients: ClientPattern::Everyone, options }];
        let export = Export { name: "/".to_owned(), file_system: tree, rules, fsid: None };
        let key = key.derive(IDENTITY);
        let fsid = key.checksum(b"fsid");
        Exported { export, tag: ExportTag::of(IDENTITY), fsid, storage: fsid, key }
    }

    /// A number that no other export has, now or after a restart, but by a chance of 2⁻⁶⁴.
    pub(crate) fn id(&self) -> u64 {
        self.fsid
    }

    /// What state is kept under for a file of this export. Exports of overlapping directories have their files in common, and
    /// what a client holds of one by one export counts by the other too.
    pub(crate) fn file_key(&self, node: Handle) -> FileKey {
        FileKey { export: self.storage, node }
    }
}

/// Why some exports make no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportTableError {
    /// Two exports have one name.
    #[error("{0} is exported twice; each export needs a name of its own")]
    DuplicateName(String),
    /// Two exports have one fsid.
    #[error("{first} and {second} have the same fsid; give each its own")]
    DuplicateFsid {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Two exports are one directory, and a client that one of them refuses could take the other.
    #[error(
        "{first} and {second} are the same directory and offer it differently, so that each client could choose what \
         it may do; give both the same clients and options, or export the directory once"
    )]
    SameDirectory {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
}

impl ExportTable {
    /// Makes a table of `exports`, whose handles are checked with `key`.
    ///
    /// # Errors
    /// When two exports cannot be told apart, or disagree about one directory.
    pub fn new(exports: Vec<Export>, key: HandleKey) -> Result<ExportTable, ExportTableError> {
        if let Some(conflict) = Claim::conflicts(exports.iter().filter_map(Export::claim)).into_iter().next() {
            return Err(conflict);
        }
        let tree = Arc::new(PseudoTree::new(exports.iter().map(|export| export.name.as_str())));
        let root = Arc::new(Exported::root(tree.clone(), &key));
        let mut table =
            ExportTable { exports: Vec::new(), by_name: HashMap::new(), by_tag: Vec::new(), key, tree, root };
        for export in exports {
            table.add(export)?;
        }
        Ok(table)
    }

    /// Has each export end where another one begins, so that its clients get the rules of the other one there.
    pub(crate) fn draw_borders(&self) {
        let origins: Vec<Origin> = self.iter().filter_map(|export| export.file_system.origin()).collect();
        for export in self.iter() {
            export.file_system.set_borders(&origins);
        }
    }

    fn add(&mut self, export: Export) -> Result<(), ExportTableError> {
        let identity = export.identity();
        if let Some(other) = self.exports.iter().find(|other| other.export.identity() == identity) {
            return Err(match export.fsid {
                Some(_) => ExportTableError::DuplicateFsid { first: other.export.name.clone(), second: export.name },
                None => ExportTableError::DuplicateName(export.name),
            });
        }
        let index = self.exports.len();
        let key = export.name.clone().into_bytes();
        if self.by_name.insert(key, index).is_some() {
            return Err(ExportTableError::DuplicateName(export.name));
        }
        let fsid = self.key.derive(&identity).checksum(b"fsid");
        let key = self.key.derive(&key_material(&identity, &export));
        let of_storage = |number: u64| self.key.derive(b"storage").checksum(&number.to_be_bytes());
        let storage = export.file_system.storage().map_or(fsid, of_storage);
        let tag = ExportTag::of(&identity);
        let place = self.by_tag.partition_point(|(other, _)| *other <= tag);
        self.by_tag.insert(place, (tag, index));
        self.exports.push(Arc::new(Exported { export, tag, key, fsid, storage }));
        Ok(())
    }

    /// The export with the number `id`.
    pub(crate) fn by_id(&self, id: u64) -> Option<&Arc<Exported>> {
        self.exports.iter().find(|exported| exported.id() == id)
    }

    /// An export that shows the files of the storage that `file` is on, the first of them if there are several.
    pub(crate) fn showing(&self, file: &FileKey) -> Option<&Arc<Exported>> {
        self.exports.iter().find(|exported| exported.storage == file.export)
    }

    /// The export that begins at a directory, the first of them if there are several.
    pub(crate) fn beginning_at(&self, origin: &Origin) -> Option<&Arc<Exported>> {
        let begins_there =
            |exported: &&Arc<Exported>| exported.export.file_system.origin().is_some_and(|other| other == *origin);
        self.exports.iter().find(begins_there)
    }

    /// All exports, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &Export> {
        self.exports.iter().map(|exported| &exported.export)
    }

    /// The export that `path` is, or is below, with the rest of the path. A single export is also reached as `/`.
    pub(crate) fn by_path<'p>(&self, path: &'p [u8]) -> Option<(&Arc<Exported>, &'p [u8])> {
        if let Some(found) = self.by_name_or_above(path) {
            return Some(found);
        }
        match &self.exports[..] {
            [only] if path.is_empty() || path.starts_with(b"/") => Some((only, path)),
            _ => None,
        }
    }

    /// The export with the longest name that `path` is or begins with.
    fn by_name_or_above<'p>(&self, path: &'p [u8]) -> Option<(&Arc<Exported>, &'p [u8])> {
        let mut end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        loop {
            let name = if end == 0 { b"/" } else { &path[..end] };
            if let Some(index) = self.by_name.get(name) {
                return Some((&self.exports[*index], &path[end..]));
            }
            end = path[..end].iter().rposition(|byte| *byte == b'/')?;
        }
    }

    /// The directory at the top of the tree that leads to all exports (NFSv4), or the export that lies there.
    pub(crate) fn top(&self, client: SocketAddr) -> (&Arc<Exported>, Handle) {
        let top = self.tree.root();
        self.crossed(&self.root, top, client).unwrap_or((&self.root, top))
    }

    /// Steps from a directory of the tree into the export that lies there; any other file stays what it is. A client
    /// that may not have the export stays in the tree, where that leads on to one that it may have; otherwise there is
    /// nothing for it.
    pub(crate) fn crossed<'t>(
        &'t self,
        exported: &'t Arc<Exported>,
        node: Handle,
        client: SocketAddr,
    ) -> Option<(&'t Arc<Exported>, Handle)> {
        if !Arc::ptr_eq(exported, &self.root) {
            return Some((exported, node));
        }
        match self.tree.export_at(&node).map(|index| &self.exports[index]) {
            Some(inner) if inner.export.options_for(client).is_some() => Some((inner, inner.export.file_system.root())),
            _ => self.leads_on(&node, client).then_some((exported, node)),
        }
    }

    /// Whether an export that `client` may have lies at a directory of the tree or below it.
    fn leads_on(&self, node: &Handle, client: SocketAddr) -> bool {
        self.tree.any_below(node, |index| self.exports[index].export.options_for(client).is_some())
    }

    /// The directory of the tree at which an export lies, or `None` for the tree itself.
    pub(crate) fn place_of(&self, exported: &Exported) -> Option<(&Arc<Exported>, Handle)> {
        (exported.id() != self.root.id()).then(|| (&self.root, self.tree.place_of(&exported.export.name)))
    }

    /// The handle that clients get for a file of `exported`.
    pub(crate) fn wire_handle(exported: &Exported, node: &Handle) -> WireHandle {
        WireHandle::new(exported.tag, node, &exported.key)
    }

    /// The export and the file that `bytes` name.
    ///
    /// # Errors
    /// [`HandleError::Malformed`] for what was never a handle, [`HandleError::Unknown`] for one of an export that is gone
    /// or one that was altered.
    pub(crate) fn resolve(&self, bytes: &[u8]) -> Result<(&Arc<Exported>, Handle), HandleError> {
        let handle = WireHandle::parse(bytes)?;
        if handle.tag() == self.root.tag && handle.is_made_with(&self.root.key) {
            return Ok((&self.root, handle.node()));
        }
        let first = self.by_tag.partition_point(|(tag, _)| *tag < handle.tag());
        let candidates = self.by_tag[first..].iter().take_while(|(tag, _)| *tag == handle.tag());
        let mut exports = candidates.map(|(_, index)| &self.exports[*index]);
        let exported = exports.find(|exported| handle.is_made_with(&exported.key)).ok_or(HandleError::Unknown)?;
        Ok((exported, handle.node()))
    }
}

/// What an export's key is made of: what tells it from the others, and which directory it is, so that handles of a
/// directory go stale when another one takes its place.
fn key_material(identity: &[u8], export: &Export) -> Vec<u8> {
    match export.file_system.origin() {
        Some(origin) => [identity, b" at ", &origin.fileid.to_be_bytes(), &origin.birth.to_be_bytes()].concat(),
        None => identity.to_vec(),
    }
}
