//! The steps of the demonstration.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use client::copy::{self, CopyOptions, Summary};
use client::{Mount, Options, Transport, Url, Version};
use config::ExportFlags;
use daemon::Daemon;
use lab::bench::{End, Job, Order, Workload};
use measure::record::JobSummary;
use report::units;

use super::compare::{Compared, compare};
use super::stage::Stage;
use super::tree;
use crate::failure::{BenchError, Failure};
use crate::output::line;
use crate::remote::about;
use crate::serve::{BackendOptions, Backends, Privilege, how_to_mount};

/// The name of the export's directory on the stage.
const EXPORT: &str = "export";

/// The duration of each benchmark, and of its warm-up.
const BENCH_TIME: Duration = Duration::from_secs(2);
const BENCH_WARM_UP: Duration = Duration::from_millis(300);
/// The file that benchmarks read, in bytes.
const BENCH_FILE_BYTES: u64 = 64 << 20;

/// The time limit for requests at the end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// The demonstration: a server, and what to do with it.
pub struct Script<'s> {
    stage: &'s Stage,
    daemon: Daemon,
    url: Url,
    is_over: Cell<bool>,
}

impl<'s> Script<'s> {
    /// Starts the server on a free port.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(stage: &'s Stage) -> Result<Script<'s>, Failure> {
        let directory = stage.path(EXPORT);
        make_dir(&directory)?;
        let privilege = Privilege::of_this_process();
        let options = daemon::Options {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))],
            state_dir: Some(stage.path("state")),
            ..daemon::Options::default()
        };
        // Preserving owners requires that root is not squashed.
        let flags = ExportFlags {
            exports: vec![directory.into()],
            no_root_squash: privilege.is_superuser(),
            ..ExportFlags::default()
        };
        let specs = flags.parse(Path::new("/"), &privilege.defaults())?;
        let backends = BackendOptions {
            state_dir: options.state_dir.clone(),
            workers: options.workers(),
            owner: privilege.own(),
            group_commit: true,
            ..BackendOptions::default()
        };
        let exports = Backends::new(backends).exports(&specs)?;
        let name = exports[0].name.clone();
        let daemon = Daemon::start(options, exports)?;
        let address = daemon.addresses()[0];
        let url = url(address, &name)?;
        line(format_args!("A server runs in this process. It exports {name} to this machine:"))?;
        line(format_args!("  {}", how_to_mount::describe(&name, address)))?;
        Ok(Script { stage, daemon, url, is_over: Cell::new(false) })
    }

    /// Whether all steps were shown.
    pub fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Shows all steps.
    ///
    /// # Errors
    /// The first failure.
    pub async fn play(&self, wait: bool) -> Result<(), Failure> {
        let generated = self.stage.path("generated");
        tree::generate(&generated)?;
        self.round_trip("a generated tree", &generated).await?;
        self.copy_at_server(b"generated", &generated).await?;
        match real_tree() {
            Some(tree) => self.round_trip(&tree.display().to_string(), &tree).await?,
            None => line(format_args!(
                "\nThere is no real tree to copy: neither Wharf's own sources nor /usr/include are here."
            ))?,
        }
        self.measure().await?;
        line(format_args!("\nServe a directory of yours:  wharf serve DIR"))?;
        line(format_args!("Then, as root:               mount -t nfs -o vers=4.2,port=2049 127.0.0.1:DIR /mnt"))?;
        self.is_over.set(true);
        if wait {
            line(format_args!(
                "\nThe export of this demonstration is served until Ctrl-C (see its mount command above)."
            ))?;
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    /// Copies a tree in over NFSv3 and TCP, and out in several ways, and compares everything.
    async fn round_trip(&self, title: &str, tree: &Path) -> Result<(), Failure> {
        let mount = self.mount(Version::V3, Transport::Tcp).await?;
        line(format_args!("\nCopying {title}:"))?;
        let name = tree.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let began = Instant::now();
        let copied = copy::upload(&mount, tree, name.as_bytes(), &CopyOptions::default()).await;
        self.tell("in  over NFSv3, TCP", began.elapsed(), &copied.map_err(|source| self.copy_failure(source))?)?;
        for (version, transport, how) in [
            (Version::V3, Transport::Tcp, "out over NFSv3, TCP"),
            (Version::V2, Transport::Tcp, "out over NFSv2, TCP"),
            (Version::V3, Transport::Udp, "out over NFSv3, UDP"),
            (Version::V4_2, Transport::Tcp, "out over NFSv4.2, TCP"),
        ] {
            let out = self.stage.path("out");
            let mount = self.mount(version, transport).await?;
            let began = Instant::now();
            let copied = copy::download(&mount, name.as_bytes(), &out, &CopyOptions::default()).await;
            self.tell(how, began.elapsed(), &copied.map_err(|source| self.copy_failure(source))?)?;
            tell_compared(&compare(tree, &out)?)?;
            fs::remove_dir_all(&out).map_err(|source| Failure::Local { path: out.clone(), source })?;
        }
        Ok(())
    }

    /// Makes the server copy the tree itself (NFSv4.2), and compares everything.
    async fn copy_at_server(&self, name: &[u8], tree: &Path) -> Result<(), Failure> {
        let mount = self.mount(Version::V4_2, Transport::Tcp).await?;
        let (copy, began) = ([name, b"-copy"].concat(), Instant::now());
        let copied = copy::between(&mount, name, &mount, &copy, &CopyOptions::default()).await;
        self.tell("by the server, NFSv4.2", began.elapsed(), &copied.map_err(|source| self.copy_failure(source))?)?;
        tell_compared(&compare(tree, &self.stage.path(EXPORT).join(OsStr::from_bytes(&copy)))?)?;
        mount.unmount().await.map_err(about(self.url.to_string()))
    }

    async fn mount(&self, version: Version, transport: Transport) -> Result<Mount, Failure> {
        let options = Options { version, transport, ..Options::default() };
        Mount::connect(&self.url, &options).await.map_err(about(self.url.to_string()))
    }

    fn copy_failure(&self, source: copy::CopyError) -> Failure {
        Failure::Copy { file: self.url.to_string(), source, left: String::new() }
    }

    fn tell(&self, how: &str, elapsed: Duration, summary: &Summary) -> Result<(), Failure> {
        let Summary { files, directories, symlinks, hard_links, bytes, data_bytes, .. } = summary;
        line(format_args!(
            "  {how}: {files} files, {directories} directories, {symlinks} symbolic and {hard_links} hard links, {} in {} \
             ({} sent as data, {})",
            units::binary_bytes(*bytes as f64),
            units::duration(elapsed),
            units::binary_bytes(*data_bytes as f64),
            units::bandwidth(*data_bytes as f64 / elapsed.as_secs_f64()),
        ))
    }

    /// Benchmarks small random and large sequential reads. Client and server share this process and its processors.
    async fn measure(&self) -> Result<(), Failure> {
        line(format_args!("\nMeasuring for {} each, client and server in one process:", units::duration(BENCH_TIME)))?;
        let random = Workload::reading(Order::Random);
        let sequential = Workload::reading(Order::Sequential);
        for (workload, block_bytes, depth) in [(random, 4096, 64), (sequential, 1 << 20, 8)] {
            let job = Job {
                workload,
                block_bytes,
                depth,
                file_bytes: BENCH_FILE_BYTES,
                end: End::After(BENCH_TIME),
                warm_up: BENCH_WARM_UP,
                ..Job::new(self.url.clone())
            };
            // The benchmark blocks a thread; Ctrl-C must be handled meanwhile.
            let done = tokio::task::spawn_blocking(move || lab::bench::run(&job)).await;
            let outcome = done.map_err(|_| BenchError::Lab(lab::bench::Error::ThreadDied))?.map_err(BenchError::Lab)?;
            tell_measured(&outcome.summary, block_bytes)?;
            if let Some(error) = outcome.first_error {
                return Err(BenchError::Operation(error).into());
            }
        }
        Ok(())
    }
}

impl Drop for Script<'_> {
    fn drop(&mut self) {
        self.daemon.shutdown(SHUTDOWN_GRACE);
        self.daemon.wait();
    }
}

fn tell_compared(Compared { entries, bytes }: &Compared) -> Result<(), Failure> {
    line(format_args!("      compared: {entries} files and directories, {bytes} bytes, no difference"))
}

fn tell_measured(summary: &JobSummary, block_bytes: u32) -> Result<(), Failure> {
    let work = summary.total();
    let quantile = |q: f64| {
        let nanoseconds = summary.directions.first().map_or(0, |direction| direction.latency_ns.quantile(q));
        units::duration(Duration::from_nanos(nanoseconds))
    };
    line(format_args!(
        "  {:<8} of {:>8}, {:>2} at once: {:>8} operations/s, {}, latency {} median, {} at 99 %",
        summary.workload,
        units::binary_bytes(block_bytes.into()),
        summary.depth,
        units::count(work.operations_per_second(summary.runtime)),
        units::bandwidth(work.bytes_per_second(summary.runtime)),
        quantile(0.5),
        quantile(0.99),
    ))
}

/// Wharf's own sources, if the program was built from them, or /usr/include.
fn real_tree() -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned);
    [sources, Some("/usr/include".into())].into_iter().flatten().find(|tree| tree.is_dir())
}

fn make_dir(path: &Path) -> Result<(), Failure> {
    fs::create_dir(path).map_err(|source| Failure::Local { path: path.to_owned(), source })
}

fn url(address: SocketAddr, name: &str) -> Result<Url, Failure> {
    let server = crate::remote::server_url(&address.to_string())?;
    Ok(Url { path: name.as_bytes().to_vec(), ..server })
}
