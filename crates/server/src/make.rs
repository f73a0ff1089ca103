//! Creates files of every kind (all protocol versions).

use vfs::{Attributes, Context, CreateMode, Entry, Error, FileKind, NewNode, Place, SetAttributes, race};

use crate::fault::Fault;
use crate::name_lock::NameOp;
use crate::node::Node;
use crate::set_attributes;

/// The longest target of a symbolic link, in bytes: that of Linux (PATH_MAX).
const MAX_TARGET_BYTES: usize = 4096;

/// Creates something called `name` in `dir` with `make`, if the caller may add names there.
pub(crate) fn make(
    dir: &Node<'_>,
    dir_attributes: vfs::Result<Attributes>,
    name: &[u8],
    make: impl FnOnce(&Node<'_>, Place<'_>) -> Result<Entry, Fault>,
) -> Result<Entry, Fault> {
    dir.require_changeable(dir_attributes)?;
    let place = dir.place(name)?;
    make(dir, place)
}

/// Creates a regular file called `name` in `dir` with the attributes `set`. An existing file is kept, and only its size
/// is set, if the caller may do so (RFC 1813 §3.3.8).
pub(crate) fn unchecked(
    dir: &Node<'_>,
    dir_attributes: vfs::Result<Attributes>,
    name: &[u8],
    set: &SetAttributes,
) -> Result<Entry, Fault> {
    let (dir_attributes, place) = (dir_attributes?, dir.place(name)?);
    race::until_won(|| match guarded_or_existing(dir, &dir_attributes, place, set) {
        // Guarded, because an unchecked create would truncate an existing file without a permission check.
        Err(Fault::File(Error::Exists)) => match dir.existing(place)? {
            Some(existing) => unless_removed(take_existing(dir, existing, set.size_bytes)),
            None => Ok(None),
        },
        made => made.map(Some),
    })
}

/// Creates a file, or reports an existing one even if the caller may neither add names nor set these attributes.
fn guarded_or_existing(
    dir: &Node<'_>,
    dir_attributes: &Attributes,
    place: Place<'_>,
    set: &SetAttributes,
) -> Result<Entry, Fault> {
    let may_add_names = dir.require_changeable(Ok(*dir_attributes));
    match may_add_names.and_then(|_| set_attributes::check_new(set, &dir.context.caller)) {
        Ok(()) => create_new(dir, place, set),
        Err(error) => {
            dir.require_searchable(dir_attributes)?;
            Err(dir.existing(place)?.map_or(error, |_| Error::Exists).into())
        }
    }
}

/// Turns the fault of a file that another call removed after its lookup into `None`.
pub(crate) fn unless_removed<T>(done: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match done {
        Err(Fault::File(error)) => Ok(race::unless_removed(Err(error))?),
        done => done.map(Some),
    }
}

/// Creates a regular file as `mode` requires.
pub(crate) fn regular(dir: &Node<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry, Fault> {
    set_attributes::check_new(set, &dir.context.caller)?;
    if mode == CreateMode::Guarded {
        return create_new(dir, place, set);
    }
    // The verifier of an exclusive create identifies a retransmission, also after a restart (RFC 1813 §3.3.8).
    let _lock = dir.lock_names(&NameOp::Make(place))?;
    Ok(dir.fs().create(&dir.context, place, mode, set)?)
}

fn create_new(dir: &Node<'_>, place: Place<'_>, set: &SetAttributes) -> Result<Entry, Fault> {
    let create = |cx: &Context<'_>| dir.fs().create(cx, place, CreateMode::Guarded, set);
    dir.make_locked(place, FileKind::Regular, set, create)
}

/// Creates anything but a regular file.
pub(crate) fn node(dir: &Node<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry, Fault> {
    if let NewNode::Symlink(target) = node
        && (target.is_empty() || target.contains(&0))
    {
        return Err(Error::Invalid.into());
    }
    if matches!(node, NewNode::Symlink(target) if target.len() > MAX_TARGET_BYTES) {
        return Err(Error::NameTooLong.into());
    }
    // Only files have a size that can be set.
    let set = &SetAttributes { size_bytes: None, ..*set };
    set_attributes::check_new(set, &dir.context.caller)?;
    dir.make_locked(place, kind(node), set, |cx| dir.fs().make_node(cx, place, node, set))
}

/// The file kind of a new node.
pub(crate) fn kind(node: NewNode<'_>) -> FileKind {
    match node {
        NewNode::Directory => FileKind::Directory,
        NewNode::Symlink(_) => FileKind::Symlink,
        NewNode::BlockDevice(_) => FileKind::BlockDevice,
        NewNode::CharDevice(_) => FileKind::CharDevice,
        NewNode::Fifo => FileKind::Fifo,
        NewNode::Socket => FileKind::Socket,
    }
}

fn take_existing(dir: &Node<'_>, existing: Entry, size_bytes: Option<u64>) -> Result<Entry, Fault> {
    if existing.attributes.kind != FileKind::Regular {
        return Err(Error::Exists.into());
    }
    let (file, set) = (dir.sibling(existing.handle), SetAttributes { size_bytes, ..SetAttributes::default() });
    file.require_unreserved_for(&set)?;
    let _change = file.announce_change();
    let attributes = set_attributes::set(&file, &existing.attributes, &set)?;
    Ok(Entry { attributes, ..existing })
}
