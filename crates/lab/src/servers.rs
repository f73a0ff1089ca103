//! The servers of an experiment, and the directory that all of them serve.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use client::{Mount, Options, Url};
use tokio::runtime::Builder;

use crate::contender::{Contender, Named, Server, Site};
use crate::data_file;
use crate::engine::{Error, Needs};
use crate::file_load;
use crate::scratch::{Parent, Scratch};

/// Servers that are restarted together. The directory they serve is made by the first start and removed with this.
#[derive(Debug)]
pub(crate) struct Servers {
    program: PathBuf,
    parent: Parent,
    experiment: String,
    space_bytes: u64,
    loops: u32,
    contenders: Vec<Named>,
    // Before the scratch directory, so that they end before it is removed.
    running: Vec<Server>,
    scratch: Option<Scratch>,
}

impl Servers {
    /// Servers that do not run yet; their files take so many bytes.
    pub(crate) fn new(
        program: &Path,
        parent: &Parent,
        space_bytes: u64,
        experiment: &str,
        contenders: Vec<Named>,
    ) -> Servers {
        let (program, parent, experiment) = (program.to_owned(), parent.clone(), experiment.to_owned());
        Servers { program, parent, experiment, space_bytes, loops: 1, contenders, running: Vec::new(), scratch: None }
    }

    /// The same with so many event loops: with more than one, on all processors.
    pub(crate) fn with_loops(self, loops: u32) -> Servers {
        Servers { loops, ..self }
    }

    /// What an experiment takes whose servers these are, and whose passes take so many seconds.
    pub(crate) fn needs(&self, pass_seconds: f64) -> Needs {
        let (round_seconds, space_bytes) = (self.start_seconds(), self.space_bytes);
        Needs { pass_seconds, round_seconds, space_bytes, root: None }
    }

    /// Leaves out those whose names are not wanted.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.contenders.retain(|one| is_wanted(&one.name));
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.contenders.is_empty()
    }

    /// About how long all of them take to start, in seconds.
    pub(crate) fn start_seconds(&self) -> f64 {
        self.contenders.iter().map(|one| one.contender.start_seconds()).sum()
    }

    /// The directory that the servers on this machine serve.
    pub(crate) fn export(&mut self) -> Result<PathBuf, Error> {
        let scratch = match self.scratch.take() {
            Some(scratch) => scratch,
            None => Scratch::new(&self.parent, &self.experiment, self.space_bytes)?,
        };
        let export = self.scratch.insert(scratch).path().join("export");
        fs::create_dir_all(&export).map_err(|source| Error::File { path: export.clone(), source })?;
        Ok(export)
    }

    /// Ends those that run and starts all of them.
    pub(crate) fn restart(&mut self) -> Result<(), Error> {
        self.running.clear();
        let site = self.site()?;
        // What an earlier process knew of handles and clients is not this one's.
        if let Err(source) = fs::remove_dir_all(&site.state)
            && source.kind() != std::io::ErrorKind::NotFound
        {
            return Err(Error::File { path: site.state, source });
        }
        for Named { name, contender } in &self.contenders {
            self.running.push(Server::start(&site, name, contender)?);
        }
        Ok(())
    }

    /// Ends the server of this name and starts another one in its place, from now on in each restart.
    pub(crate) fn replace(&mut self, name: &str, contender: &Contender) -> Result<(), Error> {
        self.running.retain(|server| server.name() != name);
        let site = self.site()?;
        for one in self.contenders.iter_mut().filter(|one| one.name == name) {
            one.contender = contender.clone();
            self.running.push(Server::start(&site, name, contender)?);
        }
        Ok(())
    }

    /// Starts a server beside the others, which ends with the result.
    pub(crate) fn start_another(&mut self, name: &str, contender: &Contender) -> Result<Server, Error> {
        Ok(Server::start(&self.site()?, name, contender)?)
    }

    fn site(&mut self) -> Result<Site, Error> {
        let export = self.export()?;
        let state = export.with_file_name("state");
        Ok(Site { program: self.program.clone(), export, state, loops: self.loops })
    }

    /// Makes a directory with so many empty files, unless it is there: in the common directory, and on each server that
    /// ran already through NFS.
    pub(crate) fn make_directory(&mut self, name: &str, files: u32) -> Result<(), Error> {
        let path = self.export()?.join(name);
        let failed = |source| Error::File { path: path.clone(), source };
        if !path.exists() {
            fs::create_dir(&path).map_err(failed)?;
            // A server may be another user, and its load makes files here.
            fs::set_permissions(&path, Permissions::from_mode(0o777)).map_err(failed)?;
            (0..files).try_for_each(|number| File::create(path.join(file_name(number))).map(drop)).map_err(failed)?;
        }
        self.through_nfs(|server| make_directory_at(server.url(""), name, files))
    }

    /// Makes a directory with so many small files, unless it is there: in the common directory. On servers that ran
    /// already it is empty: the load makes its files.
    pub(crate) fn make_small_files(&mut self, name: &str, files: u32, bytes: u32) -> Result<(), Error> {
        let path = self.export()?.join(name);
        let failed = |source| Error::File { path: path.clone(), source };
        if !path.exists() {
            let content: Vec<u8> = (0..bytes).map(|byte| byte as u8).collect();
            fs::create_dir(&path).map_err(failed)?;
            (0..files).try_for_each(|number| fs::write(path.join(format!("f.{number}")), &content)).map_err(failed)?;
        }
        self.through_nfs(|server| make_directory_at(server.url(""), name, 0))
    }

    /// Has the common directory on stable storage, so that nothing of it is written while somebody is measured.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        let path = self.export()?;
        let synced = File::open(&path).and_then(|directory| Ok(rustix::fs::syncfs(directory)?));
        synced.map_err(|source| Error::File { path, source })
    }

    /// Makes a file of so many bytes again in the common directory.
    pub(crate) fn make_file(&mut self, name: &str, bytes: u64) -> Result<(), Error> {
        let path = self.export()?.join(name);
        data_file::make(&path, bytes).map(drop).map_err(|source| Error::File { path, source })
    }

    /// Makes a file of so many bytes in the common directory, unless it is there.
    pub(crate) fn make_file_once(&mut self, name: &str, bytes: u64) -> Result<(), Error> {
        if self.export()?.join(name).exists() { Ok(()) } else { self.make_file(name, bytes) }
    }

    /// Restarts all, with a file of so many bytes unless it is there: in the common directory, and on each server that
    /// ran already through NFS.
    pub(crate) fn restart_with_file(&mut self, name: &str, bytes: u64) -> Result<(), Error> {
        self.make_file_once(name, bytes)?;
        self.restart()?;
        self.through_nfs(|server| file_load::prepare(server.url(name), bytes))
    }

    /// Does something on each server that ran already.
    fn through_nfs<F>(&self, act: impl Fn(&Server) -> F) -> Result<(), Error>
    where
        F: Future<Output = client::Result<()>>,
    {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
        for server in self.running.iter().filter(|server| server.pid().is_none()) {
            let done = runtime.block_on(act(server));
            done.map_err(|source| Error::Prepare { server: server.name().to_owned(), source })?;
        }
        Ok(())
    }

    /// The server of this name.
    pub(crate) fn get(&self, name: &str) -> Result<&Server, NoServer> {
        self.running.iter().find(|server| server.name() == name).ok_or_else(|| NoServer(name.to_owned()))
    }

    /// All that run.
    pub(crate) fn all(&self) -> &[Server] {
        &self.running
    }

    /// The processes of those that were started here.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.running.iter().filter_map(Server::pid).collect()
    }
}

fn file_name(number: u32) -> String {
    format!("name{number:05}")
}

async fn make_directory_at(url: Url, name: &str, files: u32) -> client::Result<()> {
    let options = Options { use_privileged_port: false, ..Options::default() };
    let mount = Mount::connect(&url, &options).await?;
    let export = mount.open_dir(mount.path_below()).await?;
    if !export.try_exists(name).await? {
        let directory = export.create_dir(name, 0o755).await?;
        for number in 0..files {
            directory.write(file_name(number), b"").await?;
        }
    }
    mount.unmount().await
}

/// No server of this name runs.
#[derive(Debug, thiserror::Error)]
#[error("no server '{0}' runs")]
pub(crate) struct NoServer(pub(crate) String);
