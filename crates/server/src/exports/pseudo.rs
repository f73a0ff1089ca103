//! The tree of directories that lead to the exports: what an NFSv4 client sees at the root (RFC 7530 §7.3, RFC 8881
//! §7.3).
//!
//! An export with `fsid=0` is the root of the tree, and exports below it have the rest of their paths (exports(5)).
//!
//! The tree is a read-only [`FileSystem`], of which each client sees only what leads to its exports. Where an export
//! begins inside of another one, the outer file system ends ([`FileSystem::set_borders`]): a lookup there returns
//! [`Error::Elsewhere`], and `node.rs` goes on in the inner export if that is for the client. This holds in every
//! version.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use siphasher::sip::SipHasher24;
use vfs::{
    Attributes, Blocking, Context, DirEntry, EachEntry, Entry, Error, FileKind, FileSystem, Handle, Listing, OpenFile,
    OpenMode, Place, ReadDir, Result,
};

/// A directory of the tree.
#[derive(Debug)]
struct PseudoDirectory {
    parent: u64,
    /// The names in it, with the numbers of their directories.
    children: BTreeMap<Vec<u8>, u64>,
    /// The export mounted here, as an index into the export table.
    export: Option<usize>,
}

/// The tree. A directory's number is a hash of its path, so that its handle survives restarts and reloads.
#[derive(Debug)]
pub(crate) struct PseudoTree {
    directories: HashMap<u64, PseudoDirectory>,
    /// Changes with the set of exports; it is the change attribute of the directories.
    generation: u64,
    /// The name of the export that is the root, if one is by its `fsid`.
    top: Option<String>,
}

impl PseudoTree {
    /// Builds the tree that leads to `names`, which are absolute paths in the order of the export table. `top` is the
    /// one of them that is the root.
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>, top: Option<&str>) -> PseudoTree {
        let root = PseudoDirectory { parent: number(b""), children: BTreeMap::new(), export: None };
        let directories = HashMap::from([(number(b""), root)]);
        let mut tree = PseudoTree { directories, generation: 0, top: top.map(str::to_owned) };
        for (index, name) in names.enumerate() {
            tree.generation = SipHasher24::new_with_keys(tree.generation, 1).hash(name.as_bytes());
            let below = tree.below_top(name);
            let place = tree.make_path(below.unwrap_or(name).as_bytes());
            tree.directories.entry(place).and_modify(|directory| match below {
                Some(_) => directory.export = Some(index),
                // An export beside the root is hidden from its clients: it has this place if no other has.
                None => directory.export = directory.export.or(Some(index)),
            });
        }
        tree
    }

    /// The path in the tree of an export at the root or below it: that of every export, if none is the root.
    fn below_top<'n>(&self, name: &'n str) -> Option<&'n str> {
        let Some(top) = &self.top else { return Some(name) };
        let rest = name.strip_prefix(top.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }

    fn make_path(&mut self, path: &[u8]) -> u64 {
        let (mut here, mut so_far) = (number(b""), Vec::new());
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            so_far.push(b'/');
            so_far.extend_from_slice(name);
            let below = number(&so_far);
            self.directories.entry(here).and_modify(|directory| {
                directory.children.insert(name.to_vec(), below);
            });
            let new = || PseudoDirectory { parent: here, children: BTreeMap::new(), export: None };
            self.directories.entry(below).or_insert_with(new);
            here = below;
        }
        here
    }

    /// The export at a directory, as an index into the export table.
    pub(crate) fn export_at(&self, node: &Handle) -> Option<usize> {
        self.directory(node).ok()?.export
    }

    /// Whether `is_one` holds for an export at a directory or below it; it gets indices into the export table. It
    /// visits no more directories than it needs to find one.
    pub(crate) fn any_below(&self, node: &Handle, mut is_one: impl FnMut(usize) -> bool) -> bool {
        let Ok(top) = self.directory(node) else { return false };
        if top.export.is_some_and(&mut is_one) {
            return true;
        }
        let mut path = vec![top.children.values()];
        while let Some(children) = path.last_mut() {
            match children.next().map(|number| self.directories.get(number)) {
                Some(Some(below)) if below.export.is_some_and(&mut is_one) => return true,
                Some(Some(below)) => path.push(below.children.values()),
                Some(None) => {}
                None => drop(path.pop()),
            }
        }
        false
    }

    /// The directory at which an export lies.
    pub(crate) fn place_of(&self, name: &str) -> Handle {
        let mut path = Vec::new();
        for part in
            self.below_top(name).unwrap_or(name).as_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty())
        {
            path.push(b'/');
            path.extend_from_slice(part);
        }
        Handle::from_u64(number(&path))
    }

    fn directory(&self, node: &Handle) -> Result<&PseudoDirectory> {
        let number = node.to_u64().ok_or(Error::BadHandle)?;
        self.directories.get(&number).ok_or(Error::Stale)
    }

    fn entry(&self, number: u64) -> Entry {
        let mut attributes = Attributes::new(FileKind::Directory, number);
        attributes.links = 2;
        attributes.change = self.generation;
        Entry { handle: Handle::from_u64(number), attributes }
    }
}

/// The number of the directory at `path`, without a slash at its end.
fn number(path: &[u8]) -> u64 {
    SipHasher24::new().hash(path)
}

impl FileSystem for PseudoTree {
    fn root(&self) -> Handle {
        Handle::from_u64(number(b""))
    }

    fn blocking(&self) -> Blocking {
        Blocking::Never
    }

    fn attributes(&self, _: &Context<'_>, node: &Handle) -> Result<Attributes> {
        self.directory(node)?;
        Ok(self.entry(node.to_u64().ok_or(Error::BadHandle)?).attributes)
    }

    fn lookup(&self, _: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        let children = &self.directory(&place.dir)?.children;
        children.get(place.name.as_bytes()).map(|below| self.entry(*below)).ok_or(Error::NoEntry)
    }

    fn parent(&self, _: &Context<'_>, dir: &Handle) -> Result<Entry> {
        Ok(self.entry(self.directory(dir)?.parent))
    }

    fn open(&self, _: &Context<'_>, _: &Handle, _: OpenMode) -> Result<Arc<dyn OpenFile>> {
        Err(Error::IsDirectory)
    }

    fn read_dir(&self, _: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        let skipped = usize::try_from(list.after).map_err(|_| Error::BadCookie)?;
        for (index, (name, below)) in self.directory(list.dir)?.children.iter().enumerate().skip(skipped) {
            let (entry, cookie) = (self.entry(*below), index as u64 + 1);
            if each(DirEntry { name, fileid: *below, cookie, kind: Some(FileKind::Directory), entry: Some(entry) })
                == ControlFlow::Break(())
            {
                return Ok(Listing::Stopped);
            }
        }
        Ok(Listing::Complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(tree: &PseudoTree, path: &[&str]) -> Result<Handle> {
        path.iter().try_fold(tree.root(), |dir, name| {
            let name = vfs::Name::new(name.as_bytes()).unwrap();
            Ok(tree.lookup(&Context::ROOT, Place { dir, name })?.handle)
        })
    }

    #[test]
    fn path_of_an_export_leads_to_it_and_back() {
        let tree = PseudoTree::new(["/srv/a", "/srv/b/c", "/srv"].into_iter(), None);
        assert_eq!(tree.export_at(&lookup(&tree, &["srv", "b", "c"]).unwrap()), Some(1));
        assert_eq!(tree.export_at(&lookup(&tree, &["srv"]).unwrap()), Some(2));
        assert_eq!(tree.export_at(&lookup(&tree, &["srv", "b"]).unwrap()), None);
        assert!(matches!(lookup(&tree, &["srv", "x"]), Err(Error::NoEntry)));
        let place = tree.place_of("/srv/b/c");
        assert_eq!(place, lookup(&tree, &["srv", "b", "c"]).unwrap());
        assert_eq!(tree.parent(&Context::ROOT, &place).unwrap().handle, lookup(&tree, &["srv", "b"]).unwrap());
    }

    #[test]
    fn export_that_is_the_root_has_those_below_it_at_the_rest_of_their_paths() {
        let tree = PseudoTree::new(["/a", "/srv", "/srv/a/b", "/srvx", "/srv/a"].into_iter(), Some("/srv"));
        let at = |path: &[&str]| tree.export_at(&lookup(&tree, path).unwrap());
        assert_eq!([at(&[]), at(&["a"]), at(&["a", "b"]), at(&["srvx"])], [Some(1), Some(4), Some(2), Some(3)]);
        assert_eq!(tree.place_of("/srv/a/b"), lookup(&tree, &["a", "b"]).unwrap());
        assert!(matches!(lookup(&tree, &["srv"]), Err(Error::NoEntry)));
        let of_everything = PseudoTree::new(["/", "/a"].into_iter(), Some("/"));
        assert_eq!(of_everything.export_at(&lookup(&of_everything, &["a"]).unwrap()), Some(1));
    }

    #[test]
    fn exports_at_and_below_a_directory_are_visited_until_one_is_found() {
        let tree = PseudoTree::new(["/srv/a", "/srv/b/c", "/srv", "/x"].into_iter(), None);
        let visited = |path: &[&str], wanted: Option<usize>| {
            let mut visited = Vec::new();
            let is_found = tree.any_below(&lookup(&tree, path).unwrap(), |index| {
                visited.push(index);
                Some(index) == wanted
            });
            assert_eq!(is_found, wanted.is_some());
            visited
        };
        assert_eq!(visited(&[], None), [2, 0, 1, 3]);
        assert_eq!(visited(&[], Some(0)), [2, 0]);
        assert_eq!(visited(&["srv", "b"], Some(1)), [1]);
        assert!(!tree.any_below(&Handle::from_u64(1), |_| true), "there is no such directory");
    }
}
