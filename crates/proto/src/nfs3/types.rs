use xdr::{Decode, Decoder, Encode, Encoder};

use super::{FileHandle, MAX_NAME_BYTES};

/// The status of a call (RFC 1813 §2.6, `nfsstat3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// Only the owner may do it.
    Perm = 1,
    /// The name does not exist.
    NoEnt = 2,
    /// The storage failed.
    Io = 5,
    /// There is no such device.
    NxIo = 6,
    /// The permissions do not allow it.
    Acces = 13,
    /// The name already exists.
    Exist = 17,
    /// The names are on different file systems.
    XDev = 18,
    /// There is no such device.
    NoDev = 19,
    /// It is not a directory.
    NotDir = 20,
    /// It is a directory.
    IsDir = 21,
    /// An argument is invalid.
    Inval = 22,
    /// The file would be too large.
    FBig = 27,
    /// The file system is full.
    NoSpc = 28,
    /// The file system is read-only.
    RoFs = 30,
    /// The file has too many names.
    MLink = 31,
    /// The name is too long.
    NameTooLong = 63,
    /// The directory is not empty.
    NotEmpty = 66,
    /// The quota is exceeded.
    DQuot = 69,
    /// The file no longer exists.
    Stale = 70,
    /// The path has a remote component.
    Remote = 71,
    /// The handle is malformed.
    BadHandle = 10001,
    /// The guard's time differs from the file's.
    NotSync = 10002,
    /// The cookie is no longer valid.
    BadCookie = 10003,
    /// The server does not support it.
    NotSupp = 10004,
    /// A size is too small.
    TooSmall = 10005,
    /// The server failed in another way.
    ServerFault = 10006,
    /// The server cannot make this kind of file.
    BadType = 10007,
    /// The server is busy; retry later.
    Jukebox = 10008,
}

/// A reply: a status, and results that differ for success and failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Res<T, F> {
    /// Success.
    Ok(T),
    /// Failure; the status is never [`Status::Ok`].
    Fail(Status, F),
}

impl<T: Encode, F: Encode> Encode for Res<T, F> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Res::Ok(ok) => {
                Status::Ok.encode(to);
                ok.encode(to);
            }
            Res::Fail(status, fail) => {
                status.encode(to);
                fail.encode(to);
            }
        }
    }
}

impl<'a, T: Decode<'a>, F: Decode<'a>> Decode<'a> for Res<T, F> {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(match Status::decode(from)? {
            Status::Ok => Res::Ok(T::decode(from)?),
            status => Res::Fail(status, F::decode(from)?),
        })
    }
}

/// Kinds of files (§2.5, `ftype3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum FileType {
    /// A regular file.
    Regular = 1,
    /// A directory.
    Directory = 2,
    /// A block device.
    BlockDevice = 3,
    /// A character device.
    CharDevice = 4,
    /// A symbolic link.
    Symlink = 5,
    /// A socket.
    Socket = 6,
    /// A FIFO.
    Fifo = 7,
}

/// A point in time since 1970 (§2.5, `nfstime3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct Time {
    /// Seconds.
    pub seconds: u32,
    /// Nanoseconds.
    pub nanoseconds: u32,
}

/// The numbers of a device (§2.5, `specdata3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct SpecData {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

/// The attributes of a file (§2.5, `fattr3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Decode)]
pub struct Fattr {
    /// The kind of file.
    pub file_type: FileType,
    /// The permission bits.
    pub mode: u32,
    /// The number of names.
    pub links: u32,
    /// The owner.
    pub uid: u32,
    /// The owning group.
    pub gid: u32,
    /// The length in bytes.
    pub size: u64,
    /// The space used, in bytes.
    pub used: u64,
    /// The numbers of a device.
    pub device: SpecData,
    /// The file system.
    pub fsid: u64,
    /// The file's number in it.
    pub fileid: u64,
    /// The access time.
    pub accessed: Time,
    /// The modification time of the data.
    pub modified: Time,
    /// The change time of the attributes.
    pub changed: Time,
}

/// The number of words in the attributes.
const FATTR_WORDS: usize = 21;

/// Encodes all words at once: nearly every reply has attributes, and a large directory has thousands.
impl Encode for Fattr {
    fn encode(&self, to: &mut Encoder<'_>) {
        let mut bytes = [0; 4 * FATTR_WORDS];
        for (place, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(self.words()) {
            *place = word.to_be_bytes();
        }
        to.fixed(&bytes);
    }
}

impl Fattr {
    fn words(&self) -> [u32; FATTR_WORDS] {
        let [size, used, fsid, fileid] = [self.size, self.used, self.fsid, self.fileid].map(halves);
        let [accessed, modified, changed] =
            [self.accessed, self.modified, self.changed].map(|time| [time.seconds, time.nanoseconds]);
        [
            self.file_type as u32,
            self.mode,
            self.links,
            self.uid,
            self.gid,
            size[0],
            size[1],
            used[0],
            used[1],
            self.device.major,
            self.device.minor,
            fsid[0],
            fsid[1],
            fileid[0],
            fileid[1],
            accessed[0],
            accessed[1],
            modified[0],
            modified[1],
            changed[0],
            changed[1],
        ]
    }
}

/// A hyper integer as two words (RFC 4506 §4.5).
fn halves(value: u64) -> [u32; 2] {
    [(value >> 32) as u32, value as u32]
}

/// Attributes after an operation, if the server has them (§2.6, `post_op_attr`).
pub type PostOpAttr = Option<Fattr>;

/// The attributes by which a client detects changes of a file (§2.6, `wcc_attr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WccAttr {
    /// The length in bytes.
    pub size: u64,
    /// The modification time of the data.
    pub modified: Time,
    /// The change time of the attributes.
    pub changed: Time,
}

/// Attributes before and after an operation (§2.6, `wcc_data`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub struct WccData {
    /// Those before.
    pub before: Option<WccAttr>,
    /// Those after.
    pub after: PostOpAttr,
}

/// The way to set a time (§2.5, `set_atime` and `set_mtime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub enum SetTime {
    /// The time stays.
    #[default]
    #[xdr(case = 0)]
    DontChange,
    /// To the server's time.
    #[xdr(case = 1)]
    ServerTime,
    /// To this time.
    #[xdr(case = 2)]
    ClientTime(Time),
}

/// Attributes to set (§2.5, `sattr3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub struct Sattr {
    /// The permission bits.
    pub mode: Option<u32>,
    /// The owner.
    pub uid: Option<u32>,
    /// The owning group.
    pub gid: Option<u32>,
    /// The length in bytes.
    pub size: Option<u64>,
    /// The access time.
    pub accessed: SetTime,
    /// The modification time.
    pub modified: SetTime,
}

/// A name in a directory (§2.5, `diropargs3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirOp<'a> {
    /// The directory.
    pub dir: FileHandle,
    /// The name.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
}

/// The stability of written data (§3.3.7, `stable_how`), weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum StableHow {
    /// The data may be lost until a COMMIT.
    Unstable = 0,
    /// The data is on stable storage.
    DataSync = 1,
    /// The data and all attributes are on stable storage.
    FileSync = 2,
}

/// Changes when unstable data may have been lost (`writeverf3`).
pub type WriteVerifier = [u8; 8];

/// The verifier of a directory's cookies (`cookieverf3`).
pub type CookieVerifier = [u8; 8];
