//! Calls of NFSv2, in short.

use proto::mount::{DirPath, Mnt, MntReply};
use proto::nfs2::{
    Create, CreateArgs, DirOp, DirOpOk, Fattr, FileHandle, Getattr, GetattrArgs, Lookup, LookupArgs, Mkdir, Read,
    ReadArgs, ReadOk, Readdir, ReaddirArgs, ReaddirOk, Remove, RemoveArgs, Res, Sattr, Setattr, SetattrArgs, Status,
    Write, WriteArgs,
};

use super::{Caller, EXPORT};

/// A name in a directory.
pub fn at<'n>(dir: &FileHandle, name: &'n str) -> DirOp<'n> {
    DirOp { dir: *dir, name: name.as_bytes() }
}

/// The status of a failure.
#[track_caller]
pub fn failure<T: std::fmt::Debug>(result: Res<T>) -> Status {
    match result {
        Res::Fail(status) => status,
        Res::Ok(ok) => panic!("carried out: {ok:?}"),
    }
}

/// The results of a success.
#[track_caller]
pub fn success<T>(result: Res<T>) -> T {
    match result {
        Res::Ok(ok) => ok,
        Res::Fail(status) => panic!("{status:?}"),
    }
}

/// A mode and nothing else.
pub fn mode(mode: u32) -> Sattr {
    Sattr { mode: Some(mode), ..Sattr::default() }
}

/// The same calls as of [`Caller`], in version 2.
#[derive(Clone, Copy)]
pub struct Caller2<'s>(pub Caller<'s>);

impl Caller2<'_> {
    #[track_caller]
    pub fn mount(&self) -> FileHandle {
        match self.0.call::<Mnt<1>>(&DirPath { path: EXPORT.as_bytes() }) {
            MntReply::Ok(handle) => handle,
            MntReply::Fail(errno) => panic!("not mounted: {errno:?}"),
        }
    }

    pub fn getattr(&self, file: &FileHandle) -> Res<Fattr> {
        self.0.call::<Getattr>(&GetattrArgs { file: *file })
    }

    pub fn setattr(&self, file: &FileHandle, attributes: Sattr) -> Res<Fattr> {
        self.0.call::<Setattr>(&SetattrArgs { file: *file, attributes })
    }

    pub fn lookup(&self, dir: &FileHandle, name: &str) -> Res<DirOpOk> {
        self.0.call::<Lookup>(&LookupArgs { what: at(dir, name) })
    }

    pub fn create(&self, dir: &FileHandle, name: &str, attributes: Sattr) -> Res<DirOpOk> {
        self.0.call::<Create>(&CreateArgs { place: at(dir, name), attributes })
    }

    #[track_caller]
    pub fn make_file(&self, dir: &FileHandle, name: &str) -> FileHandle {
        success(self.create(dir, name, mode(0o644))).file
    }

    pub fn mkdir(&self, dir: &FileHandle, name: &str) -> Res<DirOpOk> {
        self.0.call::<Mkdir>(&CreateArgs { place: at(dir, name), attributes: mode(0o755) })
    }

    pub fn remove(&self, dir: &FileHandle, name: &str) -> Res<()> {
        self.0.call::<Remove>(&RemoveArgs { object: at(dir, name) })
    }

    pub fn read(&self, file: &FileHandle, offset: u32, count: u32) -> Res<ReadOk<'static>> {
        self.0.call::<Read>(&ReadArgs { file: *file, offset, count, total_count: 0 })
    }

    pub fn write(&self, file: &FileHandle, offset: u32, data: &[u8]) -> Res<Fattr> {
        self.0.call::<Write>(&WriteArgs { file: *file, begin_offset: 0, offset, total_count: 0, data })
    }

    pub fn readdir(&self, dir: &FileHandle, cookie: u32, count: u32) -> Res<ReaddirOk<'static>> {
        self.0.call::<Readdir>(&ReaddirArgs { dir: *dir, cookie, count })
    }
}
