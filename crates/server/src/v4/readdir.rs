//! READDIR (RFC 7530 §16.24, RFC 8881 §18.23): entries never include `.` and `..`, and the cookies 0, 1 and 2 are
//! reserved. Attributes that need access to the files require search permission on the directory, as LOOKUP does.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use buffer::Output;
use proto::nfs4::{Attribute, Bitmap, Fattr, ReaddirArgs, Status};
use vfs::{Attributes, Detail, DirEntry, Entry, FileKind, Listing, ReadDir};
use xdr::Encoder;

use super::attributes::{self, Subject};
use super::compound::Compound;
use super::failure::{Failure, OpResult};
use crate::node::Node;
use crate::{cookies, listing};

/// No entry has one of these cookies.
const RESERVED_COOKIES: u64 = 2;

/// The word that ends the list, and eof.
const TAIL_BYTES: usize = 8;

/// The smallest reply: the verifier and the end of an empty list.
const EMPTY_BYTES: usize = 8 + TAIL_BYTES;

pub(super) fn run(compound: &mut Compound<'_>, args: &ReaddirArgs, output: &mut Output) -> OpResult<()> {
    attributes::require_readable(args.request)?;
    if (args.max_count as usize) < EMPTY_BYTES {
        return Err(Status::TooSmall.into());
    }
    let dir = compound.current()?;
    let attributes = dir.attributes()?;
    if attributes.kind != FileKind::Directory {
        return Err(Status::NotDir.into());
    }
    let wanted = detail(compound, &dir, args.request);
    let detail = listing::permitted(&dir, &attributes, wanted)?;
    let after = check_cookie(&dir, args)?;
    let max_bytes = args.max_count.min(compound.max_data_bytes(output)?) as usize;
    ListingPage { compound, dir: &dir, args, detail, may_search: detail == wanted, max_bytes }.list(after, output)
}

/// Fetches files' attributes only if the client requests more than a listing has; Linux requests less while no program
/// stats the files. In the pseudo file system, entries must be resolved to their exports.
fn detail(compound: &Compound<'_>, dir: &Node<'_>, request: Bitmap) -> Detail {
    let is_in_export = compound.cx.exports.place_of(dir.exported).is_some();
    if is_in_export && request.difference(OF_LISTING).is_empty() { Detail::Kinds } else { Detail::Entries }
}

fn check_cookie(dir: &Node<'_>, args: &ReaddirArgs) -> OpResult<u64> {
    let verifier = dir.fs().properties().cookie_verifier.to_be_bytes();
    match args.cookie {
        0 => Ok(0),
        1..=RESERVED_COOKIES => Err(Status::BadCookie.into()),
        // An outdated verifier has its own status (RFC 8881 §15.1.3.4). Unknown cookies in a valid listing get
        // BAD_COOKIE.
        _ if args.verifier != verifier => Err(Status::NotSame.into()),
        cookie => Ok(cookies::from_wire(dir, cookie)?),
    }
}

/// The attributes in a listing that need no access to the files.
const OF_LISTING: Bitmap = Attribute::set(&[Attribute::Type, Attribute::RdattrError, Attribute::MountedOnFileId]);

/// The file of an entry.
struct ListedFile<'n> {
    node: Node<'n>,
    attributes: Attributes,
}

/// The part of a listing in one reply.
struct ListingPage<'p> {
    compound: &'p Compound<'p>,
    dir: &'p Node<'p>,
    args: &'p ReaddirArgs,
    detail: Detail,
    /// Whether the caller may have the attributes that the client requests.
    may_search: bool,
    max_bytes: usize,
}

impl ListingPage<'_> {
    fn list(&self, after: u64, output: &mut Output) -> OpResult<()> {
        let to = &mut Encoder::new(&mut output.bytes);
        let start = to.len();
        to.fixed(&self.dir.fs().properties().cookie_verifier.to_be_bytes());
        let (mut any, mut is_full, mut failure) = (false, false, None);
        let list = ReadDir { dir: &self.dir.handle, after, detail: self.detail };
        let listing = self.dir.fs().read_dir(&self.dir.context, list, &mut |entry| {
            let before = to.len();
            match self.entry(&entry, to) {
                Ok(true) => {}
                Ok(false) => {
                    to.truncate(before);
                    return ControlFlow::Continue(());
                }
                Err(error) => {
                    failure = Some(error);
                    return ControlFlow::Break(());
                }
            }
            if to.len() - start + TAIL_BYTES > self.max_bytes {
                to.truncate(before);
                is_full = true;
                return ControlFlow::Break(());
            }
            any = true;
            ControlFlow::Continue(())
        })?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        if !any && listing != Listing::Complete {
            // The listing ended early, with nothing for this client: continue on a thread that may block.
            return Err(if is_full { Status::TooSmall.into() } else { Failure::Defer });
        }
        to.bool(false);
        to.bool(listing == Listing::Complete);
        Ok(())
    }

    /// Appends an entry with only the attributes of the listing. Its file number is that of the directory that another
    /// file system may be mounted on, and so MOUNTED_ON_FILEID (RFC 8881 §5.8.2.23). Returns true, as
    /// [`ListingPage::entry`] does.
    fn bare_entry(&self, entry: &DirEntry<'_>, to: &mut Encoder<'_>) -> bool {
        self.begin_entry(entry, to);
        let written: Result<(), Infallible> = Fattr::write(self.args.request, to, |attribute, to| {
            match (attribute, entry.kind) {
                (Attribute::Type, Some(kind)) => xdr::Encode::encode(&attributes::file_type(kind), to),
                (Attribute::RdattrError, _) => xdr::Encode::encode(&Status::Ok, to),
                _ => to.u64(entry.fileid),
            }
            Ok(())
        });
        let Ok(()) = written;
        true
    }

    /// Whether the client requests no more than names and what they have without kinds.
    fn needs_only_names(&self) -> bool {
        self.detail == Detail::Kinds && !self.args.request.contains(Attribute::Type.number())
    }

    /// Appends an entry. Returns false for one that is hidden from this client or already removed; a part of it may
    /// have been appended then.
    fn entry(&self, entry: &DirEntry<'_>, to: &mut Encoder<'_>) -> OpResult<bool> {
        if self.detail == Detail::Kinds && entry.kind.is_some() {
            return Ok(self.bare_entry(entry, to));
        }
        if !self.may_search {
            self.begin_entry(entry, to);
            return self.failed_entry(Status::Access, to).map(|()| true);
        }
        let file = match self.file(entry) {
            Ok(Some(file)) => Ok(file),
            Ok(None) => return Ok(false),
            // Another server lists the names of a directory that the caller may not search, but not their kinds.
            Err(Failure::Status(Status::Access)) if self.needs_only_names() => return Ok(self.bare_entry(entry, to)),
            Err(failure) => Err(failure),
        };
        self.begin_entry(entry, to);
        match file.and_then(|file| self.attributes(&file, to)) {
            Err(Failure::Status(status)) => self.failed_entry(status, to),
            result => result,
        }
        .map(|()| true)
    }

    fn attributes(&self, file: &ListedFile<'_>, to: &mut Encoder<'_>) -> OpResult<()> {
        let subject = Subject::new(self.compound, &file.node, &file.attributes);
        attributes::write(self.compound, &subject, self.args.request, to)
    }

    fn begin_entry(&self, entry: &DirEntry<'_>, to: &mut Encoder<'_>) {
        to.bool(true);
        to.u64(cookies::to_wire(self.dir, entry.cookie));
        to.opaque(entry.name);
    }

    /// The file of an entry, unless it is hidden from this client. A directory at which an export is mounted becomes
    /// the export's root.
    fn file(&self, entry: &DirEntry<'_>) -> OpResult<Option<ListedFile<'_>>> {
        let Some(file) = entry.entry else { return self.unseen(entry) };
        let cx = self.compound.cx;
        match cx.exports.crossed(self.dir.exported, file.handle, cx.client()) {
            Some((exported, handle)) if Arc::ptr_eq(exported, self.dir.exported) => {
                Ok(Some(self.sibling(Entry { handle, ..file })))
            }
            Some((exported, handle)) => self.root(cx.node_of(exported, handle)?),
            None => Ok(None),
        }
    }

    /// The file of an entry for which the listing has only a name: it is another export's root, its attributes are
    /// unavailable, or it was removed.
    fn unseen(&self, entry: &DirEntry<'_>) -> OpResult<Option<ListedFile<'_>>> {
        let Ok(name) = vfs::Name::new(entry.name) else { return Ok(None) };
        match self.dir.fs().lookup(&self.dir.context, vfs::Place { dir: self.dir.handle, name }) {
            Ok(file) => Ok(Some(self.sibling(file))),
            Err(vfs::Error::Elsewhere(origin)) => self.root(self.compound.cx.root_at(&origin)?),
            Err(vfs::Error::NoEntry) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn root<'n>(&self, node: Node<'n>) -> OpResult<Option<ListedFile<'n>>> {
        let attributes = node.attributes()?;
        Ok(Some(ListedFile { node, attributes }))
    }

    fn sibling(&self, entry: Entry) -> ListedFile<'_> {
        ListedFile { node: self.dir.sibling(entry.handle), attributes: entry.attributes }
    }

    /// Reports the error of an entry whose attributes cannot be read, if the client requested that. Otherwise the whole
    /// listing fails (RFC 8881 §18.23.3): an omitted name would be lost to the client without a word.
    fn failed_entry(&self, status: Status, to: &mut Encoder<'_>) -> OpResult<()> {
        let error = Attribute::set(&[Attribute::RdattrError]);
        if !self.args.request.contains(Attribute::RdattrError.number()) {
            return Err(status.into());
        }
        xdr::Encode::encode(&Bitmap::intersection(self.args.request, error), to);
        to.u32(4);
        xdr::Encode::encode(&status, to);
        Ok(())
    }
}
