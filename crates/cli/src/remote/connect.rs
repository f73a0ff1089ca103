use client::{Entry, Follow, Mount, Url, Version};

use super::{ConnectFlags, about, user};
use crate::failure::Failure;

/// A mounted export, and the file of a URL in it.
pub struct Session {
    /// The export.
    pub mount: Mount,
    url: Url,
    below: Vec<u8>,
}

impl Session {
    /// Mounts the export of `url`.
    ///
    /// # Errors
    /// When there is no such export or server.
    pub async fn open(url: &Url, flags: &ConnectFlags) -> Result<Session, Failure> {
        user::note(url.parameters.uid.or(flags.uid()));
        let mount = Mount::connect(url, &flags.options()).await.map_err(about(url.to_string()))?;
        Ok(Session { below: mount.path_below().to_vec(), mount, url: url.clone() })
    }

    /// Mounts an export in which the file of `url` has a name to change. A server of older versions also mounts
    /// directories of an export; then this mounts what is above.
    ///
    /// # Errors
    /// As for [`Session::open`]; [`Failure::ExportItself`] if the URL names an export.
    pub async fn open_named(url: &Url, flags: &ConnectFlags) -> Result<Session, Failure> {
        let session = Session::open(url, flags).await?;
        if !session.below.is_empty() {
            return Ok(session);
        }
        session.above(flags).await.ok_or_else(|| Failure::ExportItself { file: url.to_string() })
    }

    /// Whether the URL has the parameter `readplus`.
    pub fn wants_read_plus(&self) -> bool {
        self.url.parameters.uses_read_plus == Some(true)
    }

    /// The same file in the mount of the directory above this mount's, which a server of older versions has if both
    /// directories are in one export.
    async fn above(&self, flags: &ConnectFlags) -> Option<Session> {
        let export = self.mount.export();
        let end = export.iter().rposition(|byte| *byte != b'/')?;
        let (parent, name) = export[..=end].split_at(export[..=end].iter().rposition(|byte| *byte == b'/')?);
        let path = if parent.is_empty() { b"/".to_vec() } else { parent.to_vec() };
        let parent = Session::open(&Url { path, ..self.url.clone() }, flags).await.ok()?;
        let here = [&parent.below[..], name].concat();
        let found = parent.mount.walk(&here, Follow::Nothing).await.ok()?;
        let (root, above) = (self.mount.root(), parent.mount.root());
        let is_same = found.handle == root.handle && found.attributes.fsid == above.attributes.fsid;
        let below = if self.below.is_empty() { here } else { [&here[..], b"/", &self.below].concat() };
        is_same.then(|| Session { mount: parent.mount, below, url: self.url.clone() })
    }

    /// The same file in the mount of the highest directory of the export.
    async fn at_top(mut self, flags: &ConnectFlags) -> Session {
        while let Some(above) = self.above(flags).await {
            self = above;
        }
        self
    }

    /// Mounts the common export of two URLs; `remedy` says what to do without one.
    ///
    /// # Errors
    /// When they are in different exports.
    pub async fn open_both(
        first: &Url,
        second: &Url,
        flags: &ConnectFlags,
        remedy: &'static str,
    ) -> Result<(Session, Session), Failure> {
        let mut first = Session::open_named(first, flags).await?;
        let mut second = match Session::open_named(second, flags).await {
            Err(Failure::ExportItself { .. }) => Session::open(second, flags).await?,
            session => session?,
        };
        if !first.is_with(&second) {
            (first, second) = (first.at_top(flags).await, second.at_top(flags).await);
        }
        if first.is_with(&second) {
            let second = Session { mount: first.mount.clone(), ..second };
            return Ok((first, second));
        }
        Err(Failure::TwoExports { remedy, first: first.name(), second: second.name() })
    }

    /// Mounts the exports of two URLs. Both sessions share one mount if they are on one server of NFSv4.
    ///
    /// # Errors
    /// As for [`Session::open`].
    pub async fn open_pair(first: &Url, second: &Url, flags: &ConnectFlags) -> Result<(Session, Session), Failure> {
        let source = Session::open(first, flags).await?;
        let target = Session::open(second, flags).await?;
        if source.is_with(&target) {
            return Ok((Session { mount: target.mount.clone(), ..source }, target));
        }
        let is_one_server =
            (&first.host, first.port, &first.parameters) == (&second.host, second.port, &second.parameters);
        if is_one_server && source.mount.version() >= Version::V4_0 && target.mount.version() >= Version::V4_0 {
            // With NFSv4, all exports are below the server's root.
            let top = Url { path: b"/".to_vec(), ..first.clone() };
            let mount = Session::open(&top, flags).await?.mount;
            let from_root = |session: Session| {
                let below = [session.mount.export(), b"/", &session.below].concat();
                Session { mount: mount.clone(), below, url: session.url }
            };
            return Ok((from_root(source), from_root(target)));
        }
        Ok((source, target))
    }

    fn is_with(&self, other: &Session) -> bool {
        let address = |session: &Session| session.mount.connection().address();
        address(self) == address(other) && self.mount.root().handle == other.mount.root().handle
    }

    /// The file, as the user named it.
    pub fn name(&self) -> String {
        self.url.to_string()
    }

    /// The file's path on the server, as the user named it.
    pub fn path(&self) -> &[u8] {
        &self.url.path
    }

    /// The URL of another path on the server.
    pub fn name_of(&self, path: &[u8]) -> String {
        Url { path: path.to_vec(), ..self.url.clone() }.to_string()
    }

    /// The same with the parameters that the user gave, for other commands.
    pub fn url_of(&self, path: &[u8]) -> String {
        Url { path: path.to_vec(), ..self.url.clone() }.with_parameters()
    }

    /// The file's path below the export.
    pub fn below(&self) -> Vec<u8> {
        self.below.clone()
    }

    /// Looks the file up.
    ///
    /// # Errors
    /// When it does not exist.
    pub async fn find(&self, follow: Follow) -> Result<Entry, Failure> {
        self.mount.walk(&self.below, follow).await.map_err(about(self.name()))
    }

    /// Looks up the file's directory, and returns it with the file's name.
    ///
    /// # Errors
    /// When the directory does not exist, or the URL names the export itself.
    pub async fn find_parent(&self) -> Result<(Entry, Vec<u8>), Failure> {
        if self.below.iter().all(|byte| *byte == b'/') {
            return Err(Failure::ExportItself { file: self.name() });
        }
        let (dir, name) = self.mount.walk_parent(&self.below).await.map_err(about(self.name()))?;
        Ok((dir, name.to_vec()))
    }
}
