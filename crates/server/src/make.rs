//! Making files of every kind (all versions of the protocol).

use vfs::{Attributes, Context, CreateMode, Entry, Error, FileKind, NewNode, Place, SetAttributes, race};

use crate::fault::Fault;
use crate::name_turn::Change;
use crate::node::Node;
use crate::set_attributes;

/// Makes something new called `name` in `dir`, whose attributes are these, with `make`, if the caller may add names there.
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

/// Makes a regular file called `name` in `dir`, with the attributes `set`. One that exists is taken as it is, but for its size,
/// which the caller must be allowed to set (RFC 1813 §3.3.8).
pub(crate) fn unchecked(
    dir: &Node<'_>,
    dir_attributes: vfs::Result<Attributes>,
    name: &[u8],
    set: &SetAttributes,
) -> Result<Entry, Fault> {
    let (dir_attributes, place) = (dir_attributes?, dir.place(name)?);
    race::until_won(|| match guarded_or_existing(dir, &dir_attributes, place, set) {
        // Guarded, because an unchecked create would truncate the file without asking whether the caller may.
        Err(Fault::File(Error::Exists)) => match dir.existing(place)? {
            Some(existing) => unless_removed(take_existing(dir, existing, set.size_bytes)),
            None => Ok(None),
        },
        made => made.map(Some),
    })
}

/// A file that exists is there for who may not add names to the directory too, nor give the attributes to a new file.
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

/// What was done with a file that was looked up just before, or `None` when another call removed the file in between.
pub(crate) fn unless_removed<T>(done: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match done {
        Err(Fault::File(error)) => Ok(race::unless_removed(Err(error))?),
        done => done.map(Some),
    }
}

/// Makes a regular file, or finds it there as `mode` says.
pub(crate) fn regular(dir: &Node<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry, Fault> {
    set_attributes::check_new(set, &dir.context.caller)?;
    if mode == CreateMode::Guarded {
        return create_new(dir, place, set);
    }
    // The verifier of an exclusive create tells a retransmission from another call, also after a restart (RFC 1813
    // §3.3.8).
    let _turn = dir.take_turn(&Change::Make(place))?;
    Ok(dir.fs().create(&dir.context, place, mode, set)?)
}

fn create_new(dir: &Node<'_>, place: Place<'_>, set: &SetAttributes) -> Result<Entry, Fault> {
    let create = |cx: &Context<'_>| dir.fs().create(cx, place, CreateMode::Guarded, set);
    dir.make_in_turn(place, (FileKind::Regular, set), create)
}

/// Makes anything but a regular file.
pub(crate) fn node(dir: &Node<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry, Fault> {
    if let NewNode::Symlink(target) = node
        && (target.is_empty() || target.contains(&0))
    {
        return Err(Error::Invalid.into());
    }
    set_attributes::check_new(set, &dir.context.caller)?;
    dir.make_in_turn(place, (kind(node), set), |cx| dir.fs().make_node(cx, place, node, set))
}

/// The kind of file that a new node is.
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
    let attributes = set_attributes::set(&file, &existing.attributes, &set)?;
    Ok(Entry { attributes, ..existing })
}
