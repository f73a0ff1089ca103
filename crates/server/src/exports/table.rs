use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use access_rules::{AccessRule, ClientPattern, ExportOptions, Squash};
use state::FileKey;
use vfs::{FileSystem, Handle, Origin};

use super::error::ExportTableError;
use super::pseudo::PseudoTree;
use super::{Export, ExportRules};
use crate::handle::{ExportTag, HandleError, HandleKey, WireHandle};

/// The export with this `fsid` is the root of NFSv4's tree (exports(5)).
const ROOT_FSID: u64 = 0;

/// All exports at one time. A reload builds a new table; requests in progress keep the one they began with.
#[derive(Debug)]
pub struct ExportTable {
    exports: Vec<Arc<Exported>>,
    by_name: HashMap<Vec<u8>, usize>,
    /// Tags with indices into `exports`, sorted by tag: nearly always a tag has one export or a few.
    by_tag: Vec<(ExportTag, usize)>,
    /// Indices into `exports`, by number.
    by_id: foldhash::HashMap<u64, usize>,
    /// The first export of each storage.
    by_storage: foldhash::HashMap<u64, usize>,
    /// The first export that begins at a directory: device, number and birth of its [`Origin`].
    by_origin: foldhash::HashMap<(u64, u64, u64), usize>,
    /// Whether local processes may lock files of an export too.
    has_local_locks: bool,
    key: HandleKey,
    tree: Arc<PseudoTree>,
    /// The pseudo file system as an export, so that its handles differ from those of all others.
    root: Arc<Exported>,
}

/// An export with the parts of its handles.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) export: Export,
    pub(crate) tag: ExportTag,
    /// The export's key, derived from the server's key and the export's identity.
    key: HandleKey,
    /// The export's part of `fsid`, which is mixed with the file system's own.
    pub(crate) fsid: u64,
    /// Identifies the storage in [`FileKey`]s: the same for all exports of one storage.
    storage: u64,
}

impl Exported {
    /// The pseudo file system, readable for everybody.
    fn root(tree: Arc<PseudoTree>, key: &HandleKey) -> Exported {
        const IDENTITY: &[u8] = b"tree";
        let options = ExportOptions { read_only: true, squash: Squash::None, ..ExportOptions::default() };
        let rules = vec![AccessRule { clients: ClientPattern::Everyone, options }];
        let export = Export { name: "/".to_owned(), file_system: tree, rules, fsid: None };
        let key = key.derive(IDENTITY);
        let fsid = key.checksum(b"fsid");
        Exported { export, tag: ExportTag::of(IDENTITY), fsid, storage: fsid, key }
    }

    /// Identifies the export, also across restarts; two exports collide with a probability of 2⁻⁶⁴.
    pub(crate) fn id(&self) -> u64 {
        self.fsid
    }

    /// The key of a file's locks and opens. Exports of overlapping directories share their files, so a lock taken
    /// through one export counts in the other.
    pub(crate) fn file_key(&self, node: Handle) -> FileKey {
        FileKey { export: self.storage, node }
    }
}

impl ExportTable {
    /// Builds a table of `exports`, whose handles are checked with `key`.
    ///
    /// # Errors
    /// When two exports cannot be distinguished, or conflict about one directory.
    pub fn new(exports: Vec<Export>, key: HandleKey) -> Result<ExportTable, ExportTableError> {
        if let Some(conflict) = ExportRules::conflicts(exports.iter().filter_map(Export::claim)).into_iter().next() {
            return Err(conflict);
        }
        let top = exports.iter().find(|export| export.fsid == Some(ROOT_FSID)).map(|export| export.name.as_str());
        let tree = Arc::new(PseudoTree::new(exports.iter().map(|export| export.name.as_str()), top));
        let root = Arc::new(Exported::root(tree.clone(), &key));
        let mut table = ExportTable {
            exports: Vec::new(),
            by_name: HashMap::new(),
            by_tag: Vec::new(),
            by_id: Default::default(),
            by_storage: Default::default(),
            by_origin: Default::default(),
            has_local_locks: false,
            key,
            tree,
            root,
        };
        for export in exports {
            table.add(export)?;
        }
        Ok(table)
    }

    /// Ends each export where another one begins, so that the inner export's rules apply there.
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
        self.by_id.entry(fsid).or_insert(index);
        self.by_storage.entry(storage).or_insert(index);
        if let Some(origin) = export.file_system.origin() {
            self.by_origin.entry((origin.device, origin.fileid, origin.birth)).or_insert(index);
        }
        self.has_local_locks |= export.file_system.has_local_locks();
        self.exports.push(Arc::new(Exported { export, tag, key, fsid, storage }));
        Ok(())
    }

    /// The export with the number `id`.
    pub(crate) fn by_id(&self, id: u64) -> Option<&Arc<Exported>> {
        self.by_id.get(&id).map(|index| &self.exports[*index])
    }

    /// An export of the storage that `file` is on; the first of several.
    pub(crate) fn showing(&self, file: &FileKey) -> Option<&Arc<Exported>> {
        self.by_storage.get(&file.export).map(|index| &self.exports[*index])
    }

    /// The export that begins at a directory; the first of several.
    pub(crate) fn beginning_at(&self, origin: &Origin) -> Option<&Arc<Exported>> {
        self.by_origin.get(&(origin.device, origin.fileid, origin.birth)).map(|index| &self.exports[*index])
    }

    /// Whether local processes may lock files of an export too.
    pub(crate) fn has_local_locks(&self) -> bool {
        self.has_local_locks
    }

    /// All exports, in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &Export> {
        self.exports.iter().map(|exported| &exported.export)
    }

    /// The export that contains `path`, with the rest of the path. A single export is also reached as `/`.
    pub(crate) fn by_path<'p>(&self, path: &'p [u8]) -> Option<(&Arc<Exported>, &'p [u8])> {
        if let Some(found) = self.by_name_or_above(path) {
            return Some(found);
        }
        match &self.exports[..] {
            [only] if path.is_empty() || path.starts_with(b"/") => Some((only, path)),
            _ => None,
        }
    }

    /// The export with the longest name that is `path` or one of its ancestors.
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

    /// The root of the pseudo file system (NFSv4), or the export mounted there.
    pub(crate) fn top(&self, client: SocketAddr) -> (&Arc<Exported>, Handle) {
        let top = self.tree.root();
        self.crossed(&self.root, top, client).unwrap_or((&self.root, top))
    }

    /// Crosses from a directory of the pseudo file system into the export mounted there; any other file stays as it is.
    /// A client without access to the export stays in the tree where that leads to an export it may use; otherwise
    /// `None`.
    pub(crate) fn crossed<'t>(
        &'t self,
        exported: &'t Arc<Exported>,
        node: Handle,
        client: SocketAddr,
    ) -> Option<(&'t Arc<Exported>, Handle)> {
        if !Arc::ptr_eq(exported, &self.root) {
            return Some((exported, node));
        }
        match self.mounted_at(&node) {
            Some(inner) if inner.export.options_for(client).is_some() => Some((inner, inner.export.file_system.root())),
            _ => self.leads_on(&node, client).then_some((exported, node)),
        }
    }

    /// The export that is mounted at a directory of the tree.
    pub(crate) fn mounted_at(&self, node: &Handle) -> Option<&Arc<Exported>> {
        self.tree.export_at(node).map(|index| &self.exports[index])
    }

    /// Whether an export that `client` may use is at a directory of the tree or below it.
    fn leads_on(&self, node: &Handle, client: SocketAddr) -> bool {
        self.tree.any_below(node, |index| self.exports[index].export.options_for(client).is_some())
    }

    /// The directory of the tree at which an export is mounted, or `None` for the tree itself.
    pub(crate) fn place_of(&self, exported: &Exported) -> Option<(&Arc<Exported>, Handle)> {
        (exported.id() != self.root.id()).then(|| (&self.root, self.tree.place_of(&exported.export.name)))
    }

    /// The handle that clients receive for a file of `exported`.
    pub(crate) fn wire_handle(exported: &Exported, node: &Handle) -> WireHandle {
        WireHandle::new(exported.tag, node, &exported.key)
    }

    /// The export and the file that a handle's `bytes` identify.
    ///
    /// # Errors
    /// [`HandleError::Malformed`] for bytes that were never a handle, [`HandleError::Unknown`] for a handle of a
    /// removed export or an altered one.
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

/// The input of an export's key: its identity and its directory, so that handles go stale when another directory
/// replaces it.
fn key_material(identity: &[u8], export: &Export) -> Vec<u8> {
    match export.file_system.origin() {
        Some(origin) => [identity, b" at ", &origin.fileid.to_be_bytes(), &origin.birth.to_be_bytes()].concat(),
        None => identity.to_vec(),
    }
}
