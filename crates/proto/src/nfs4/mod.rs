//! NFS version 4, minor versions 0 (RFC 7530 and 7531), 1 (RFC 8881 and 5662) and 2 (RFC 7862 and 7863), with extended
//! attributes (RFC 8276).
//!
//! Minor versions are data: the types cover all versions, and [`OPERATIONS`], [`ATTRIBUTES`] and [`CALLBACKS`] list
//! what each minor version has. Each module is one operation; common items are here. A server decodes a
//! [`CompoundHead`], then the number and arguments of each operation. A client encodes and decodes a whole
//! [`Compound`].

mod access;
mod acl;
mod allocate;
mod arg_op;
mod attributes;
mod backchannel_ctl;
mod bind_conn_to_session;
mod bitmap;
mod callback;
mod callback_sec;
mod claim;
mod clone;
mod close;
mod commit;
mod compound;
mod copy;
mod copy_notify;
mod create;
mod create_session;
mod deallocate;
mod delegation;
mod delegpurge;
mod delegreturn;
mod destroy_clientid;
mod destroy_session;
mod exchange_id;
mod free_stateid;
mod fs_locations;
mod get_dir_delegation;
mod getattr;
mod getfh;
mod getxattr;
mod io_advise;
mod link;
mod listxattrs;
mod lock;
mod lockt;
mod locku;
mod lookup;
mod lookupp;
mod minor_version;
mod null;
mod nverify;
mod offload_cancel;
mod offload_status;
mod open;
mod open_confirm;
mod open_downgrade;
mod openattr;
mod operations;
mod putfh;
mod putpubfh;
mod putrootfh;
mod read;
mod read_plus;
mod readdir;
mod readlink;
mod reclaim_complete;
mod release_lockowner;
mod remove;
mod removexattr;
mod rename;
mod renew;
mod reply;
mod res_op;
mod restorefh;
mod savefh;
mod secinfo;
mod secinfo_no_name;
mod seek;
mod sequence;
mod set_ssv;
mod setattr;
mod setclientid;
mod setclientid_confirm;
mod setxattr;
mod state;
mod state_protect;
mod status;
mod test_stateid;
mod types;
mod verify;
mod want_delegation;
mod write;
mod write_same;

pub use access::*;
pub use acl::*;
pub use allocate::*;
pub use arg_op::ArgOp;
pub use attributes::*;
pub use backchannel_ctl::*;
pub use bind_conn_to_session::*;
pub use bitmap::Bitmap;
pub use callback::*;
pub use callback_sec::*;
pub use claim::*;
pub use clone::*;
pub use close::*;
pub use commit::*;
pub use compound::*;
pub use copy::*;
pub use copy_notify::*;
pub use create::*;
pub use create_session::*;
pub use deallocate::*;
pub use delegation::*;
pub use delegpurge::*;
pub use delegreturn::*;
pub use destroy_clientid::*;
pub use destroy_session::*;
pub use exchange_id::*;
pub use free_stateid::*;
pub use fs_locations::*;
pub use get_dir_delegation::*;
pub use getattr::*;
pub use getfh::*;
pub use getxattr::*;
pub use io_advise::*;
pub use link::*;
pub use listxattrs::*;
pub use lock::*;
pub use lockt::*;
pub use locku::*;
pub use lookup::*;
pub use lookupp::*;
pub use minor_version::MinorVersion;
pub use null::*;
pub use nverify::*;
pub use offload_cancel::*;
pub use offload_status::*;
pub use open::*;
pub use open_confirm::*;
pub use open_downgrade::*;
pub use openattr::*;
pub use operations::*;
pub use putfh::*;
pub use putpubfh::*;
pub use putrootfh::*;
pub use read::*;
pub use read_plus::*;
pub use readdir::*;
pub use readlink::*;
pub use reclaim_complete::*;
pub use release_lockowner::*;
pub use remove::*;
pub use removexattr::*;
pub use rename::*;
pub use renew::*;
pub use reply::*;
pub use res_op::ResOp;
pub use restorefh::*;
pub use savefh::*;
pub use secinfo::*;
pub use secinfo_no_name::*;
pub use seek::*;
pub use sequence::*;
pub use set_ssv::*;
pub use setattr::*;
pub use setclientid::*;
pub use setclientid_confirm::*;
pub use setxattr::*;
pub use state::*;
pub use state_protect::*;
pub use status::Status;
pub use test_stateid::*;
pub use types::*;

/// The stability of written data (`stable_how4`), as in NFSv3.
pub use crate::nfs3::StableHow;
pub use verify::*;
pub use want_delegation::*;
pub use write::*;
pub use write_same::*;

/// A file handle (NFS4_FHSIZE).
pub type FileHandle = crate::FileHandle<128>;

/// The program's number.
pub const PROGRAM: u32 = 100_003;
/// The version's number.
pub const VERSION: u32 = 4;
/// The port of a server without rpcbind.
pub const PORT: u16 = 2049;
/// The default number of the callback program.
pub const CALLBACK_PROGRAM: u32 = 0x4000_0000;
/// The version of the callback program.
pub const CALLBACK_VERSION: u32 = 1;

/// The longest name of a client, an owner or a server, in bytes: NFS4_OPAQUE_LIMIT. The RFCs set no limit below.
pub const MAX_OPAQUE_BYTES: usize = 1024;
/// The longest tag of a COMPOUND, in bytes.
pub const MAX_TAG_BYTES: usize = 1024;
/// The most operations of a COMPOUND or a CB_COMPOUND that are decoded at once. A server's own limit is lower, and it
/// checks the header against that.
pub const MAX_COMPOUND_OPS: usize = 512;
/// The most words of a bitmap on the wire.
pub const MAX_BITMAP_WORDS: usize = 64;
/// The longest name in a directory, in bytes; longer than a server accepts, so that it can answer NAMETOOLONG.
pub const MAX_NAME_BYTES: usize = 4096;
/// The longest target of a symbolic link, in bytes; longer than a server accepts.
pub const MAX_LINK_BYTES: usize = 8192;
/// The most names in a path.
pub const MAX_PATH_COMPONENTS: usize = 256;
/// The most servers, and the most paths, of a file system's locations.
pub const MAX_LOCATIONS: usize = 64;
/// The most data of a READ, a WRITE or a segment, in bytes.
pub const MAX_DATA_BYTES: usize = 1 << 20;
/// The most entries of a directory in one reply: more of the shortest than fit in a reply of 1 MiB.
pub const MAX_DIR_ENTRIES: usize = 1 << 16;
/// The most segments in a reply of READ_PLUS.
pub const MAX_READ_PLUS_SEGMENTS: usize = 1 << 12;
/// The most bytes of the attributes of a file.
pub const MAX_ATTRIBUTES_BYTES: usize = 1 << 17;
/// The most entries of an access control list.
pub const MAX_ACES: usize = 1024;
/// The longest MIME type, in bytes.
pub const MAX_MIME_TYPE_BYTES: usize = 256;
/// The most layout types of a file system.
pub const MAX_LAYOUT_TYPES: usize = 16;
/// The longest value of an extended attribute, in bytes: that of Linux.
pub const MAX_XATTR_BYTES: usize = 1 << 16;
/// The most names in a reply of LISTXATTRS.
pub const MAX_XATTR_NAMES: usize = 1 << 13;
/// The longest name of a transport, in bytes.
pub const MAX_NETID_BYTES: usize = 128;
/// The longest universal address, in bytes.
pub const MAX_NETADDR_BYTES: usize = 256;
/// The longest name or URL of a server, in bytes.
pub const MAX_URL_BYTES: usize = 1024;
/// The most servers of a copy.
pub const MAX_COPY_SERVERS: usize = 16;
/// The most security flavours of a file.
pub const MAX_FLAVORS: usize = 32;
/// The longest object identifier, in bytes.
pub const MAX_OID_BYTES: usize = 256;
/// The most algorithms that a client proposes for SP4_SSV.
pub const MAX_ALGORITHMS: usize = 32;
/// The most credentials for callbacks.
pub const MAX_CALLBACK_SECS: usize = 16;
/// The longest handle of a context of RPCSEC_GSS, in bytes.
pub const MAX_GSS_HANDLE_BYTES: usize = 1024;
/// The most stateids of a TEST_STATEID.
pub const MAX_STATEIDS: usize = 1 << 12;
/// The most requests that a callback refers to, and the most sessions that they are from.
pub const MAX_REFERRING_CALLS: usize = 64;

/// The names of the procedures, by number.
pub const PROCEDURES: [&str; 2] = ["NULL", "COMPOUND"];
