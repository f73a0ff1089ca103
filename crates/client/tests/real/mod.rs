//! The real server, in this process, with an empty directory in memory.

#![allow(dead_code, clippy::unwrap_used, reason = "part of each test program, which uses some of it")]

pub mod forger;
pub mod older;
pub mod proxy;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use client::{Mount, Options, Url, Version};
use daemon::{Daemon, export_to_this_machine};
use fs_mem::{MemFs, MemOptions};

/// A server of one export, `/files`, that everybody may write to.
pub struct Export {
    daemon: Daemon,
}

impl Export {
    pub fn start() -> Export {
        let files = Arc::new(MemFs::new(MemOptions::default()));
        let options =
            daemon::Options { listen: vec!["127.0.0.1:0".parse().unwrap()], loops: 1, ..daemon::Options::default() };
        let mut export = export_to_this_machine("/files", files);
        export.rules.iter_mut().for_each(|rule| rule.options.squash = server::Squash::None);
        Export { daemon: Daemon::start(options, vec![export]).unwrap() }
    }

    pub fn address(&self) -> SocketAddr {
        self.daemon.addresses()[0]
    }

    pub fn url(&self) -> Url {
        format!("nfs://{}/files", self.address()).parse().unwrap()
    }

    pub fn options(&self, version: Version) -> Options {
        Options { version, use_privileged_port: false, ..Options::default() }
    }

    pub async fn mount(&self, version: Version) -> Mount {
        Mount::connect(&self.url(), &self.options(version)).await.unwrap()
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        self.daemon.shutdown(Duration::from_secs(1));
        self.daemon.wait();
    }
}
