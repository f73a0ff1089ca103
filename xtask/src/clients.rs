//! Clients compared on one server: `cargo xtask clients`.
//!
//! `wharf serve` has the first processor and serves one file in memory; libnfs's raw interface
//! (`crates/client/benches/libnfs/read_rate.c`) and Wharf's library (`crates/client/examples/read_rate.rs`) take turns on the second
//! one: NFSv3, one connection, random reads of 4 KiB with 64 of them in flight, or as many as `--depth` says, or with `--rw write` unstable
//! writes.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::install::{self, Program};
use crate::turns::{self, Column, Contender, Turns};
use crate::{Failure, Outcome, command};

const PORT: u16 = 31_051;
const EXPORT: &str = "export";
const FILE: &str = "big";
const FILE_BYTES: u64 = 64 << 20;
const DEPTH: u32 = 64;
const BLOCK: &str = "4096";
const SOURCE: &str = "crates/client/benches/libnfs/read_rate.c";
const COLUMNS: [Column; 2] = [
    Column { figure: "ops/s", title: "operations/s" },
    Column { figure: "cpu_us/op", title: "client's processor time per operation, µs" },
];
const LIBNFS: Program = Program { name: "nfs-ls", packages: &["libnfs-utils", "libnfs-dev", "gcc", "libc6-dev"] };

/// What is asked for.
pub struct Options {
    pub rounds: usize,
    pub seconds: f64,
    /// A server that is built already, if it is not to be that of this checkout.
    pub wharf: Option<PathBuf>,
    pub samples: Option<PathBuf>,
    /// How many calls are in flight, and whether they write, where clients are compared.
    depth: u32,
    is_writing: bool,
}

impl Options {
    pub fn parse(command: &str, arguments: &[String]) -> Outcome<Options> {
        let mut options =
            Options { rounds: 6, seconds: 2.0, wharf: None, samples: None, depth: DEPTH, is_writing: false };
        let mut words = arguments.iter();
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| Failure::Usage(format!("{name} wants a value")))?;
            let wrong = || Failure::Usage(format!("{name} {value}: a number above 0 is wanted"));
            match name.as_str() {
                "--rounds" => options.rounds = value.parse().ok().filter(|rounds| *rounds > 0).ok_or_else(wrong)?,
                "--seconds" => {
                    options.seconds = value.parse().ok().filter(|seconds| *seconds > 0.0).ok_or_else(wrong)?;
                }
                "--wharf" => options.wharf = Some(value.into()),
                "--depth" if command == "clients" => {
                    options.depth = value.parse().ok().filter(|depth| *depth > 0).ok_or_else(wrong)?;
                }
                "--rw" if command == "clients" => match value.as_str() {
                    "read" | "write" => options.is_writing = value == "write",
                    _ => return Err(Failure::Usage(format!("--rw {value}: read or write is wanted"))),
                },
                "--samples" => options.samples = Some(value.into()),
                _ => return Err(Failure::Usage(format!("{command} has no option {name}"))),
            }
        }
        Ok(options)
    }

    /// The program that serves and mounts, built if it is not named.
    pub fn wharf_program(&self, root: &Path) -> Outcome<PathBuf> {
        match &self.wharf {
            Some(program) => Ok(program.clone()),
            None => command::build_wharf(root).map(|()| command::wharf_program(root)),
        }
    }
}

/// A server of one file in memory, until it is dropped.
pub struct Scene {
    pub folder: PathBuf,
    server: Child,
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What cannot be killed is dead already.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Scene {
    /// Makes a file of `bytes` and serves it, pinned to the first processor.
    pub fn set_up(wharf: &Path, port: u16, bytes: u64) -> Outcome<Scene> {
        let folder = PathBuf::from(format!("/dev/shm/wharf-clients-{}", std::process::id()));
        let export = folder.join(EXPORT);
        let failed = |source| Failure::File { path: folder.clone(), source };
        fs::create_dir_all(&export).map_err(failed)?;
        let block: Vec<u8> = (0..bytes / 8).flat_map(u64::to_le_bytes).collect();
        fs::write(export.join(FILE), block).map_err(failed)?;
        let mut server = Command::new("taskset");
        server.args(["-c", "0"]).arg(wharf).arg("serve").arg(&export);
        server.args(["--no-root-squash", "--loops", "1", "--listen", &format!("127.0.0.1:{port}"), "--state-dir"]);
        server.arg(folder.join("state")).stdout(Stdio::null()).stderr(Stdio::null());
        let server = server.spawn().map_err(|source| command::spawn_failure(&server, source))?;
        let scene = Scene { folder, server };
        wait_until_it_listens(port)?;
        Ok(scene)
    }

    /// The URL of its file.
    pub fn url(&self, port: u16) -> String {
        format!("nfs://127.0.0.1:{port}{}/{FILE}", self.export())
    }

    /// The path of what is served.
    fn export(&self) -> String {
        self.folder.join(EXPORT).display().to_string()
    }
}

fn wait_until_it_listens(port: u16) -> Outcome {
    for _ in 0..200 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(Failure::Peer(format!("wharf serve does not listen on port {port}")))
}

/// Measures both clients, and shows what the one is to the other.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let options = Options::parse("clients", arguments)?;
    install::ensure(&[LIBNFS], "there is nothing to compare with");
    let wharf = options.wharf_program(root)?;
    let ours = example(root, "read_rate")?;
    let scene = Scene::set_up(&wharf, PORT, FILE_BYTES)?;
    let theirs = compile(root, &scene.folder.join("read_rate"))?;
    let (milliseconds, depth) = (format!("{:.0}", options.seconds * 1e3), options.depth.to_string());
    let rw = if options.is_writing { "write" } else { "read" };
    let run = |program: &Path, place: &[&str]| {
        let mut command = Command::new(program);
        command.args(place).args([&depth, BLOCK, &milliseconds, rw]);
        turns::figures("1", &command, &COLUMNS.map(|column| column.figure))
    };
    let (port, export, url) = (PORT.to_string(), scene.export(), scene.url(PORT));
    let turns = Turns::take(
        &[
            Contender {
                name: "libnfs",
                beside: 0,
                run: Box::new(|| run(&theirs, &["127.0.0.1", &port, &export, FILE])),
            },
            Contender { name: "Wharf", beside: 0, run: Box::new(|| run(&ours, &[&url])) },
        ],
        options.rounds,
    )?;
    turns.show(&COLUMNS, "libnfs")?;
    options.samples.iter().try_for_each(|path| turns.write(root, path))
}

/// Builds an example of the client library.
pub fn example(root: &Path, name: &str) -> Outcome<PathBuf> {
    let arguments = ["build", "--quiet", "--release", "--locked", "--package", "wharf-client", "--example", name];
    command::run(command::cargo(root, &arguments))?;
    Ok(command::target_folder(root).join("release/examples").join(name))
}

fn compile(root: &Path, program: &Path) -> Outcome<PathBuf> {
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-o"]).arg(program).arg(root.join(SOURCE)).arg("-lnfs");
    command::run(cc)?;
    Ok(program.to_owned())
}
