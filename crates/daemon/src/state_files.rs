//! The files that a start makes in the state directory, and what it means when one is lost.

use own_files::FileKind;

/// The key of file handles.
pub(crate) const KEY: FileKind = FileKind {
    name: "handle-key",
    loss: "the file handles that clients have are stale",
    otherwise: "mount again on all clients",
};

/// The records of clients.
pub(crate) const CLIENTS: FileKind = FileKind {
    name: "client-records",
    loss: "clients cannot reclaim the opens and locks that they held, and others may get these at once",
    otherwise: "restart the programs on clients that rely on locks",
};

/// The two files of the reply log.
pub(crate) const REPLIES: [FileKind; 2] = [replies("replies-0"), replies("replies-1")];

/// Where the directory was used last. The file that a start makes last, so that a first start is told from a loss.
pub(crate) const PLACE: FileKind = FileKind {
    name: "place",
    loss: "it is unknown whether the state directory was copied or moved",
    otherwise: "give each server a state directory of its own",
};

/// In the order in which a start makes them.
pub(crate) const FILES: [FileKind; 5] = [KEY, CLIENTS, REPLIES[0], REPLIES[1], PLACE];

const fn replies(name: &'static str) -> FileKind {
    FileKind {
        name,
        loss: "requests that clients sent before this start and retransmit now may be executed twice, or fail",
        otherwise: "check what programs on clients have just created, removed and renamed",
    }
}
