use client::{Entry, Follow, Mount, Url, Version};

use super::{ConnectFlags, about};
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
        let itself = || Failure::ExportItself { file: url.to_string() };
        let end = url.path.iter().rposition(|byte| *byte != b'/').ok_or_else(itself)?;
        let (above, name) =
            url.path[..=end].split_at(url.path[..=end].iter().rposition(|byte| *byte == b'/').unwrap_or(0));
        let parent = Url { path: if above.is_empty() { b"/".to_vec() } else { above.to_vec() }, ..url.clone() };
        let parent = Session::open(&parent, flags).await.map_err(|_| itself())?;
        let below = [&parent.below[..], name].concat();
        let found = parent.mount.walk(&below, Follow::Nothing).await.map_err(|_| itself())?;
        let (root, above) = (session.mount.root(), parent.mount.root());
        if found.handle != root.handle || found.attributes.fsid != above.attributes.fsid {
            return Err(itself());
        }
        Ok(Session { mount: parent.mount, below, url: url.clone() })
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
        let first = Session::open_named(first, flags).await?;
        let second = match Session::open_named(second, flags).await {
            Err(Failure::ExportItself { .. }) => Session::open(second, flags).await?,
            session => session?,
        };
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
        let is_one_server =
            (&first.host, first.port, &first.parameters) == (&second.host, second.port, &second.parameters);
        if is_one_server && source.mount.version() >= Version::V4_0 {
            // With NFSv4, all exports are below the server's root.
            let top = Url { path: b"/".to_vec(), ..first.clone() };
            let mount = Session::open(&top, flags).await?.mount;
            let session = |url: &Url| Session { mount: mount.clone(), url: url.clone(), below: url.path.clone() };
            return Ok((session(first), session(second)));
        }
        let target = Session::open(second, flags).await?;
        if source.is_with(&target) {
            return Ok((Session { mount: target.mount.clone(), ..source }, target));
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
