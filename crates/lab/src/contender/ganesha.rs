//! NFS-Ganesha with its VFS backend.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::site::{Ports, Site};

/// The program.
pub(super) const PROGRAM: &str = "ganesha.nfsd";

/// Writes its configuration. Returns the arguments that name it.
pub(super) fn configure(site: &Site, ports: Ports) -> io::Result<Vec<String>> {
    let folder = site.state.join("ganesha");
    fs::create_dir_all(&folder)?;
    let text = |path: PathBuf| path.display().to_string();
    let (config, pid) = (folder.join("ganesha.conf"), folder.join("pid"));
    let (export, Ports { nfs, mount }) = (site.export.display(), ports);
    let recovery = folder.display();
    fs::write(
        &config,
        format!(
            "NFS_CORE_PARAM {{ Bind_addr = 127.0.0.1; NFS_Port = {nfs}; MNT_Port = {mount}; Protocols = 3, 4;
                Enable_NLM = false; Enable_RQUOTA = false; RPC_Max_Connections = 10000; }}
             NFSV4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = {recovery}; }}
             EXPORT {{ Export_Id = 1; Path = {export}; Pseudo = {export}; Protocols = 3, 4; Transports = TCP, UDP;
                Access_Type = RW; Squash = No_Root_Squash; SecType = sys; FSAL {{ Name = VFS; }} }}
            "
        ),
    )?;
    let words = ["-F", "-L", "/dev/stderr", "-N", "NIV_WARN", "-p"].map(str::to_owned);
    Ok(words.into_iter().chain([text(pid), "-f".to_owned(), text(config)]).collect())
}
