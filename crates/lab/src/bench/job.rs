use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use client::{Mount, Options, Url};

use super::{Error, Operation, Order, Workload};

/// What to do, how, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// What the user calls it.
    pub name: String,
    /// The file, on its server. It is made when it is not there, and filled when it is too short. When this is a directory,
    /// a file in it is used and removed afterwards.
    pub url: Url,
    /// How to mount; what the URL says goes before. [`Job::connections`] replaces the number of connections in it.
    pub options: Options,
    /// What operations there are.
    pub workload: Workload,
    /// The bytes of one operation: a multiple of 8, at most what the server transfers at once.
    pub block_bytes: u32,
    /// How many operations are outstanding at once on each connection, 1 to [`Job::MAX_DEPTH`].
    pub depth: u32,
    /// How many connections there are, 1 to [`Job::MAX_CONNECTIONS`].
    pub connections: u32,
    /// How much of the file is used, in bytes: at least one block.
    pub file_bytes: u64,
    /// When the job is over.
    pub end: End,
    /// How long it runs before anything is measured.
    pub warm_up: Duration,
    /// Whether every write is on stable storage before it is answered. Otherwise each connection asks for that once, at
    /// its end, which is measured for itself.
    pub stable_writes: bool,
    /// Whether to check every byte: the file is filled with a pattern first, what is read is compared with it, and what
    /// was written is read back at the end. This costs the client much time.
    pub verify: bool,
    /// Whether each connection uses a file of its own, whose name has the number of the connection behind it, `.0` and on.
    /// Nothing can be verified then.
    pub own_files: bool,
    /// What random orders and patterns follow from.
    pub seed: u64,
    /// Who is told of every mount that is made for the job.
    pub observer: Option<Observer>,
    /// The server's process, if it runs on this machine and its cost is wanted.
    pub server_pid: Option<u32>,
}

/// Somebody who wants to know of mounts, as soon as they are there.
#[derive(Clone)]
pub struct Observer(pub Arc<dyn Fn(&Mount) + Send + Sync>);

/// Two are the same when they are one.
impl PartialEq for Observer {
    fn eq(&self, other: &Observer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// When a job is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After this time, which begins after the warm-up. What is outstanding then is waited for.
    After(Duration),
    /// After this many bytes in all, rounded up to whole blocks on each connection. There is no warm-up then.
    Bytes(u64),
}

impl Job {
    /// The most operations outstanding on one connection.
    pub const MAX_DEPTH: u32 = 4096;
    /// The most connections.
    pub const MAX_CONNECTIONS: u32 = 10_000;

    /// Sequential reads of 1 MiB for five seconds, one at a time on one connection, of a file of 256 MiB.
    pub fn new(url: Url) -> Job {
        Job {
            name: "bench".to_owned(),
            url,
            options: Options::default(),
            workload: Workload::reading(Order::Sequential),
            block_bytes: 1 << 20,
            depth: 1,
            connections: 1,
            file_bytes: 256 << 20,
            end: End::After(Duration::from_secs(5)),
            warm_up: Duration::ZERO,
            stable_writes: false,
            verify: false,
            own_files: false,
            seed: 1,
            observer: None,
            server_pid: None,
        }
    }

    /// How many blocks the file has; what is left of it behind the last whole block is not used.
    pub(super) fn block_count(&self) -> u64 {
        self.file_bytes / u64::from(self.block_bytes)
    }

    /// Refuses what makes no sense before anything is connected.
    pub(super) fn check(&self) -> Result<(), Error> {
        let within = |what, value: u64, min, max| match (min..=max).contains(&value) {
            true => Ok(()),
            false => Err(Error::Range { what, value, min, max }),
        };
        within("depth", self.depth.into(), 1, Self::MAX_DEPTH.into())?;
        within("connections", self.connections.into(), 1, Self::MAX_CONNECTIONS.into())?;
        within("percentage of reads", self.workload.read_percent.into(), 0, 100)?;
        within("file size", self.file_bytes, self.block_bytes.into(), i64::MAX.unsigned_abs())?;
        if self.block_bytes == 0 || !self.block_bytes.is_multiple_of(8) {
            return Err(Error::BlockSize(self.block_bytes));
        }
        if self.verify && (self.workload.operation != Operation::Transfer || self.own_files) {
            return Err(Error::Verify(self.workload.to_string()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job::new("nfs://localhost/x".parse().unwrap())
    }

    #[test]
    fn job_that_makes_no_sense_is_refused_with_the_limit() {
        assert!(job().check().is_ok());
        let error = Job { depth: 0, ..job() }.check().unwrap_err().to_string();
        assert_eq!(error, "depth is 0; it can be 1 to 4096");
        assert!(matches!(Job { block_bytes: 4095, ..job() }.check(), Err(Error::BlockSize(4095))));
        assert!(matches!(Job { block_bytes: 0, ..job() }.check(), Err(Error::BlockSize(0))));
        assert!(matches!(Job { file_bytes: 4096, ..job() }.check(), Err(Error::Range { what: "file size", .. })));
    }
}
