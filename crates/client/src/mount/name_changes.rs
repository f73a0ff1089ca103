//! Changes of what names lead to.
//!
//! A call goes on to its end when nobody waits for it any more: the server may carry it out later, and what is learned of the names
//! meanwhile is true only until it has. The end of the call, or of its connection, is the end of what is believed of them.

use vfs::{CreateMode, SetAttributes};

use super::Mount;
use super::operations::call_once;
use crate::{Entry, Handle, Result, SpecialFile, Version, v2, v3, v4};

impl Mount {
    /// Makes a regular file. Version 2 has no exclusive creation: there it is an error.
    ///
    /// # Errors
    /// [`Status::Exists`](crate::Status::Exists) as `mode` says; whatever else the server says.
    pub async fn create(&self, dir: &Handle, name: &[u8], mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        self.check_name("CREATE", name)?;
        self.carry_out("CREATE", |mount| {
            let (dir, name, set) = (*dir, name.to_vec(), *set);
            async move {
                let mut change = mount.change_names([(&dir, name.as_slice())]);
                let (made, dir_change) =
                    call_once!(&mount, create(&dir, &name, mode, &set)).map_err(|error| error.about(&name))?;
                change.made(&made, &dir_change);
                Ok(made)
            }
        })
        .await
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// What the server says.
    pub async fn mkdir(&self, dir: &Handle, name: &[u8], set: &SetAttributes) -> Result<Entry> {
        self.check_name("MKDIR", name)?;
        self.carry_out("MKDIR", |mount| {
            let (dir, name, set) = (*dir, name.to_vec(), *set);
            async move {
                let mut change = mount.change_names([(&dir, name.as_slice())]);
                let (made, dir_change) =
                    call_once!(&mount, mkdir(&dir, &name, &set)).map_err(|error| error.about(&name))?;
                change.made(&made, &dir_change);
                Ok(made)
            }
        })
        .await
    }

    /// Makes a symbolic link to `target`.
    ///
    /// # Errors
    /// What the server says.
    pub async fn symlink(&self, dir: &Handle, name: &[u8], target: &[u8], set: &SetAttributes) -> Result<Entry> {
        self.check_name("SYMLINK", name)?;
        self.carry_out("SYMLINK", |mount| {
            let (dir, name, target, set) = (*dir, name.to_vec(), target.to_vec(), *set);
            async move {
                let mut change = mount.change_names([(&dir, name.as_slice())]);
                let (made, dir_change) =
                    call_once!(&mount, symlink(&dir, &name, &target, &set)).map_err(|error| error.about(&name))?;
                change.made(&made, &dir_change);
                Ok(made)
            }
        })
        .await
    }

    /// Makes a device, a socket or a FIFO.
    ///
    /// # Errors
    /// What the server says.
    pub async fn mknod(&self, dir: &Handle, name: &[u8], node: SpecialFile, set: &SetAttributes) -> Result<Entry> {
        self.check_name("MKNOD", name)?;
        self.carry_out("MKNOD", |mount| {
            let (dir, name, set) = (*dir, name.to_vec(), *set);
            async move {
                let mut change = mount.change_names([(&dir, name.as_slice())]);
                let (made, dir_change) =
                    call_once!(&mount, mknod(&dir, &name, node, &set)).map_err(|error| error.about(&name))?;
                change.made(&made, &dir_change);
                Ok(made)
            }
        })
        .await
    }

    /// Removes a name that is not a directory's.
    ///
    /// # Errors
    /// What the server says.
    pub async fn remove(&self, dir: &Handle, name: &[u8]) -> Result<()> {
        self.check_name("REMOVE", name)?;
        self.carry_out("REMOVE", |mount| {
            let (dir, name) = (*dir, name.to_vec());
            async move {
                let mut change = mount.change_names([(&dir, name.as_slice())]);
                let dir_change = call_once!(&mount, remove(&dir, &name)).map_err(|error| error.about(&name))?;
                change.removed(&dir_change);
                Ok(())
            }
        })
        .await
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// [`Status::NotEmpty`](crate::Status::NotEmpty), and whatever else the server says.
    pub async fn rmdir(&self, dir: &Handle, name: &[u8]) -> Result<()> {
        self.check_name("RMDIR", name)?;
        self.carry_out("RMDIR", |mount| {
            let (dir, name) = (*dir, name.to_vec());
            async move {
                let mut change = mount.change_names([(&dir, name.as_slice())]);
                let dir_change = call_once!(&mount, rmdir(&dir, &name)).map_err(|error| error.about(&name))?;
                change.removed(&dir_change);
                Ok(())
            }
        })
        .await
    }

    /// Moves a file to another name, over what is there if that is of the same kind.
    ///
    /// # Errors
    /// What the server says.
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
    /// What the server says.
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

    /// Makes a call that goes on when nobody waits for it, and another one while the server asks to try later and somebody does.
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
