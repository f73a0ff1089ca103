//! Changes of names.
//!
//! A call goes on to its end even if its caller is cancelled. The server may carry it out later, and what is learned
//! about the names meanwhile is valid only until then. The names are invalidated when the call or its connection ends.

use bytes::Bytes;
use client_calls::DirChange;
use vfs::{CreateMode, SetAttributes};

use super::Mount;
use super::operations::call_once;
use crate::{Entry, Handle, Result, SpecialFile, Version, v2, v3, v4};

impl Mount {
    /// Makes a regular file. In NFSv2, which has no exclusive creation, that is an error.
    ///
    /// # Errors
    /// [`Status::Exists`](crate::Status::Exists), depending on `mode`; other errors of the server.
    pub async fn create(&self, dir: &Handle, name: &[u8], mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        let set = *set;
        let call = move |mount, dir, name: Vec<u8>| async move { call_once!(&mount, create(&dir, &name, mode, &set)) };
        self.make("CREATE", dir, name, call).await
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn mkdir(&self, dir: &Handle, name: &[u8], set: &SetAttributes) -> Result<Entry> {
        let set = *set;
        let call = move |mount, dir, name: Vec<u8>| async move { call_once!(&mount, mkdir(&dir, &name, &set)) };
        self.make("MKDIR", dir, name, call).await
    }

    /// Makes a symbolic link to `target`.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn symlink(&self, dir: &Handle, name: &[u8], target: &[u8], set: &SetAttributes) -> Result<Entry> {
        let (target, set) = (Bytes::copy_from_slice(target), *set);
        self.make("SYMLINK", dir, name, move |mount, dir, name| {
            let target = target.clone();
            async move { call_once!(&mount, symlink(&dir, &name, &target, &set)) }
        })
        .await
    }

    /// Makes a device, a socket or a FIFO.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn mknod(&self, dir: &Handle, name: &[u8], node: SpecialFile, set: &SetAttributes) -> Result<Entry> {
        let set = *set;
        let call = move |mount, dir, name: Vec<u8>| async move { call_once!(&mount, mknod(&dir, &name, node, &set)) };
        self.make("MKNOD", dir, name, call).await
    }

    /// Removes a name of anything but a directory.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn remove(&self, dir: &Handle, name: &[u8]) -> Result<()> {
        let call = |mount, dir, name: Vec<u8>| async move { call_once!(&mount, remove(&dir, &name)) };
        self.unlink("REMOVE", dir, name, call).await
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// [`Status::NotEmpty`](crate::Status::NotEmpty); other errors of the server.
    pub async fn rmdir(&self, dir: &Handle, name: &[u8]) -> Result<()> {
        let call = |mount, dir, name: Vec<u8>| async move { call_once!(&mount, rmdir(&dir, &name)) };
        self.unlink("RMDIR", dir, name, call).await
    }

    /// Moves a file to another name, and replaces an existing file of the same kind.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn rename(&self, from_dir: &Handle, from: &[u8], to_dir: &Handle, to: &[u8]) -> Result<()> {
        self.check_name("RENAME", from)?;
        self.check_name("RENAME", to)?;
        self.carry_out("RENAME", |mount| {
            let (from_dir, from, to_dir, to) = (*from_dir, from.to_vec(), *to_dir, to.to_vec());
            async move {
                let mut change = mount.change_names([(&from_dir, from.as_slice()), (&to_dir, to.as_slice())]);
                let dir_changes =
                    call_once!(&mount, rename(&from_dir, &from, &to_dir, &to)).map_err(|error| error.about(&from))?;
                change.renamed(&dir_changes);
                Ok(())
            }
        })
        .await
    }

    /// Gives `file` a further name.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn link(&self, file: &Handle, dir: &Handle, name: &[u8]) -> Result<()> {
        self.check_name("LINK", name)?;
        self.carry_out("LINK", |mount| {
            let (file, dir, name) = (*file, *dir, name.to_vec());
            async move {
                let (_file, mut change) = (mount.change([&file]), mount.change_names([(&dir, name.as_slice())]));
                let dir_change = call_once!(&mount, link(&file, &dir, &name)).map_err(|error| error.about(&name))?;
                change.linked(&file, &dir_change);
                Ok(())
            }
        })
        .await
    }

    /// Makes a name and its file.
    async fn make<F>(
        &self,
        operation: &'static str,
        dir: &Handle,
        name: &[u8],
        call: impl Fn(Mount, Handle, Vec<u8>) -> F,
    ) -> Result<Entry>
    where
        F: Future<Output = Result<(Entry, DirChange)>> + Send + 'static,
    {
        self.check_name(operation, name)?;
        self.carry_out(operation, |mount| {
            let (dir, name) = (*dir, name.to_vec());
            let making = call(mount.clone(), dir, name.clone());
            async move {
                let mut change = mount.change_names([(&dir, name.as_slice())]);
                let (made, dir_change) = making.await.map_err(|error| error.about(&name))?;
                change.made(&made, &dir_change);
                Ok(made)
            }
        })
        .await
    }

    async fn unlink<F>(
        &self,
        operation: &'static str,
        dir: &Handle,
        name: &[u8],
        call: impl Fn(Mount, Handle, Vec<u8>) -> F,
    ) -> Result<()>
    where
        F: Future<Output = Result<DirChange>> + Send + 'static,
    {
        self.check_name(operation, name)?;
        self.carry_out(operation, |mount| {
            let (dir, name) = (*dir, name.to_vec());
            let removing = call(mount.clone(), dir, name.clone());
            async move {
                let mut change = mount.change_names([(&dir, name.as_slice())]);
                let dir_change = removing.await.map_err(|error| error.about(&name))?;
                change.removed(&dir_change);
                Ok(())
            }
        })
        .await
    }

    /// Makes a call that goes on even if its caller is cancelled, and repeats it while the server asks to try later.
    async fn carry_out<T, F>(&self, name: &'static str, call: impl Fn(Mount) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let mut patience = self.patience();
        loop {
            match self.connection().to_the_end(name, call(self.clone())).await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                done => return done,
            }
        }
    }
}
