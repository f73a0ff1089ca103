//! Servers in processes of their own.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use client::{Parameters, Url, Version};

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its process cannot be started.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It ended, or did not say where it listens; it has told why on standard error.
    #[error("the server for '{way}' did not start")]
    NoAddress {
        /// For which way to do something.
        way: String,
    },
}

/// The directory of an experiment that its servers serve.
pub(crate) const EXPORT: &str = "export";

/// The most lines of a server's output that are looked at for its address.
const MAX_LINES: usize = 32;

/// A server that ends with its value.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts `program` to serve `export` with one loop, which stays on the first processor, and waits until it does.
    fn start(
        program: &Path,
        (export, state): (&Path, &Path),
        (way, arguments): (&str, &[String]),
    ) -> Result<Server, StartError> {
        let mut command = Command::new(program);
        command.arg("serve").arg(export).arg("--state-dir").arg(state).args(arguments);
        command.args(["--listen", "127.0.0.1:0", "--loops", "1", "--pin", "--no-root-squash", "--log-level", "error"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|source| StartError::Start { program: program.to_owned(), source })?;
        let address = child.stdout.take().and_then(|output| {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.take(MAX_LINES).find_map(|line| address_in(&line))
        });
        match address {
            Some(address) => Ok(Server { child, address }),
            None => {
                end(&mut child);
                Err(StartError::NoAddress { way: way.to_owned() })
            }
        }
    }

    /// Starts one server for each way, which is a name with its arguments, to serve the `export` in `folder`, where their states are too.
    pub(crate) fn start_all(
        program: &Path,
        folder: &Path,
        ways: impl Iterator<Item = (String, Vec<String>)>,
    ) -> Result<Vec<Server>, StartError> {
        let start = |(number, (way, arguments)): (usize, (String, Vec<String>))| {
            let state = folder.join(format!("state-{number}"));
            Server::start(program, (&folder.join(EXPORT), &state), (&way, &arguments))
        };
        ways.enumerate().map(start).collect()
    }

    /// Where a client of NFSv3 finds a file that the server serves.
    pub(crate) fn url(&self, file: &Path) -> Url {
        let port = Some(self.address.port());
        let parameters =
            Parameters { version: Some(Version::V3), nfs_port: port, mount_port: port, ..Parameters::default() };
        Url { host: self.address.ip().to_string(), port: None, path: file.as_os_str().as_bytes().to_vec(), parameters }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// It has nothing to finish: what it served is removed.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The address in a line such as `mount -t nfs -o port=40001,… 127.0.0.1:/export /mnt`, or in a URL.
fn address_in(line: &str) -> Option<SocketAddr> {
    let port = line.split(|c: char| !c.is_ascii_alphanumeric()).skip_while(|word| *word != "port").nth(1)?;
    Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_is_found_in_the_way_to_mount() {
        let line = "mount -t nfs -o vers=4.2,port=40001,proto=tcp 127.0.0.1:/export /mnt";
        assert_eq!(address_in(line), Some("127.0.0.1:40001".parse().unwrap()));
        assert_eq!(address_in("nothing of the kind"), None);
    }
}
