//! Calls of NFSv3, in short.

use proto::mount::{DirPath, Mnt3, Mnt3Reply};
use proto::nfs3::{
    Access, AccessArgs, Commit, CommitArgs, CommitOk, Create, CreateArgs, CreateHow, CreateOk, DirOp, Fattr,
    FileHandle, Getattr, GetattrArgs, GetattrOk, Link, LinkArgs, LinkAttributes, Lookup, LookupArgs, LookupOk, Mkdir,
    MkdirArgs, PostOpAttr, Read, ReadArgs, ReadOk, Remove, RemoveArgs, Rename, RenameArgs, RenameWcc, Res, Rmdir,
    RmdirArgs, Sattr, Setattr, SetattrArgs, StableHow, Status, Symlink, SymlinkArgs, WccData, Write, WriteArgs,
    WriteOk,
};

use super::{Caller, EXPORT};

/// A name in a directory.
pub fn at<'n>(dir: &FileHandle, name: &'n str) -> DirOp<'n> {
    DirOp { dir: *dir, name: name.as_bytes() }
}

/// The status of a failure.
#[track_caller]
pub fn failure<T: std::fmt::Debug, F: std::fmt::Debug>(result: Res<T, F>) -> Status {
    match result {
        Res::Fail(status, _) => status,
        Res::Ok(ok) => panic!("carried out: {ok:?}"),
    }
}

/// The results of a success.
#[track_caller]
pub fn success<T, F: std::fmt::Debug>(result: Res<T, F>) -> T {
    match result {
        Res::Ok(ok) => ok,
        Res::Fail(status, fail) => panic!("{status:?}: {fail:?}"),
    }
}

/// A mode and nothing else.
pub fn mode(mode: u32) -> Sattr {
    Sattr { mode: Some(mode), ..Sattr::default() }
}

/// A size and nothing else.
pub fn size(size: u64) -> Sattr {
    Sattr { size: Some(size), ..Sattr::default() }
}

impl Caller<'_> {
    #[track_caller]
    pub fn mount(&self) -> FileHandle {
        self.mount_path(EXPORT)
    }

    #[track_caller]
    pub fn mount_path(&self, path: &str) -> FileHandle {
        match self.call::<Mnt3>(&DirPath { path: path.as_bytes() }) {
            Mnt3Reply::Ok(ok) => ok.handle,
            Mnt3Reply::Fail(status) => panic!("{path} was not mounted: {status:?}"),
        }
    }

    pub fn getattr(&self, object: &FileHandle) -> Res<GetattrOk, ()> {
        self.call::<Getattr>(&GetattrArgs { object: *object })
    }

    #[track_caller]
    pub fn attributes(&self, object: &FileHandle) -> Fattr {
        success(self.getattr(object)).attributes
    }

    pub fn setattr(&self, object: &FileHandle, attributes: Sattr) -> Res<WccData, WccData> {
        self.call::<Setattr>(&SetattrArgs { object: *object, attributes, guard: None })
    }

    pub fn lookup(&self, dir: &FileHandle, name: &str) -> Res<LookupOk, PostOpAttr> {
        self.call::<Lookup>(&LookupArgs { what: at(dir, name) })
    }

    #[track_caller]
    pub fn handle_of(&self, dir: &FileHandle, name: &str) -> FileHandle {
        success(self.lookup(dir, name)).object
    }

    /// The bits out of `wanted` that ACCESS grants.
    #[track_caller]
    pub fn access(&self, object: &FileHandle, wanted: u32) -> u32 {
        success(self.call::<Access>(&AccessArgs { object: *object, access: wanted })).access
    }

    pub fn create(&self, dir: &FileHandle, name: &str, how: CreateHow) -> Res<CreateOk, WccData> {
        self.call::<Create>(&CreateArgs { place: at(dir, name), how })
    }

    /// Makes an empty file.
    #[track_caller]
    pub fn make_file(&self, dir: &FileHandle, name: &str) -> FileHandle {
        success(self.create(dir, name, CreateHow::Guarded(mode(0o644)))).object.unwrap()
    }

    pub fn mkdir(&self, dir: &FileHandle, name: &str) -> Res<CreateOk, WccData> {
        self.call::<Mkdir>(&MkdirArgs { place: at(dir, name), attributes: mode(0o755) })
    }

    #[track_caller]
    pub fn make_dir(&self, dir: &FileHandle, name: &str) -> FileHandle {
        success(self.mkdir(dir, name)).object.unwrap()
    }

    pub fn symlink(&self, dir: &FileHandle, name: &str, target: &[u8]) -> Res<CreateOk, WccData> {
        self.call::<Symlink>(&SymlinkArgs { place: at(dir, name), attributes: Sattr::default(), target })
    }

    pub fn link(&self, file: &FileHandle, dir: &FileHandle, name: &str) -> Res<LinkAttributes, LinkAttributes> {
        self.call::<Link>(&LinkArgs { file: *file, link: at(dir, name) })
    }

    pub fn remove(&self, dir: &FileHandle, name: &str) -> Res<WccData, WccData> {
        self.call::<Remove>(&RemoveArgs { object: at(dir, name) })
    }

    pub fn rmdir(&self, dir: &FileHandle, name: &str) -> Res<WccData, WccData> {
        self.call::<Rmdir>(&RmdirArgs { object: at(dir, name) })
    }

    pub fn rename(&self, from: DirOp<'_>, to: DirOp<'_>) -> Res<RenameWcc, RenameWcc> {
        self.call::<Rename>(&RenameArgs { from, to })
    }

    pub fn read(&self, file: &FileHandle, offset: u64, count: u32) -> Res<ReadOk<'static>, PostOpAttr> {
        self.call::<Read>(&ReadArgs { file: *file, offset, count })
    }

    pub fn write(&self, file: &FileHandle, offset: u64, stable: StableHow, data: &[u8]) -> Res<WriteOk, WccData> {
        self.call::<Write>(&WriteArgs { file: *file, offset, count: data.len() as u32, stable, data })
    }

    pub fn commit(&self, file: &FileHandle) -> Res<CommitOk, WccData> {
        self.call::<Commit>(&CommitArgs { file: *file, offset: 0, count: 0 })
    }
}
