//! What a mount gives of the library's rate: `cargo xtask mounted`.
//!
//! `wharf serve` has the first processor and serves one file in memory. The library (`crates/client/examples/sequential_read.rs`) and
//! dd(1) on a mount that was just made take turns to read it from its beginning to its end, 1 MiB at a time, on both processors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::clients::{self, Options, Scene};
use crate::turns::{self, Column, Contender, Figures, Turns};
use crate::{Failure, Outcome, command};

const PORT: u16 = 31_052;
const FILE_BYTES: u64 = 512 << 20;
const PROCESSORS: &str = "0,1";
const RATE: &str = "MB/s";

/// A mount, until it is dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        // What is not mounted any more needs nothing.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Measures both for NFSv3 and NFSv4.2, and shows what the one is to the other.
pub fn run(root: &Path, arguments: &[String]) -> Outcome {
    let options = Options::parse("mounted", arguments)?;
    let wharf = options.wharf_program(root)?;
    let library = clients::example(root, "sequential_read")?;
    let scene = Scene::set_up(&wharf, PORT, FILE_BYTES)?;
    let folder = scene.folder.join("mnt");
    fs::create_dir_all(&folder).map_err(|source| Failure::File { path: folder.clone(), source })?;
    let by_library = |version: &str| {
        let mut read = Command::new(&library);
        read.arg(format!("{}?version={version}", scene.url(PORT)));
        turns::figures(PROCESSORS, &read, &[RATE])
    };
    let by_mount = |version: &str| {
        let url = scene.url(PORT);
        let (export, file) = url.rsplit_once('/').unwrap_or_default();
        let _mounted = mount(&wharf, export, &folder, version)?;
        read_mounted(&folder.join(file))
    };
    let turns = Turns::take(
        &[
            Contender { name: "library, v3", beside: 0, run: Box::new(|| by_library("3")) },
            Contender { name: "mount, v3", beside: 0, run: Box::new(|| by_mount("3")) },
            Contender { name: "library, v4.2", beside: 2, run: Box::new(|| by_library("4.2")) },
            Contender { name: "mount, v4.2", beside: 2, run: Box::new(|| by_mount("4.2")) },
        ],
        options.rounds,
    )?;
    turns.show(&[Column { figure: RATE, title: RATE }], "library")?;
    options.samples.iter().try_for_each(|path| turns.write(root, path))
}

fn mount(wharf: &Path, export: &str, folder: &Path, version: &str) -> Outcome<Mounted> {
    let mut mount = Command::new(wharf);
    mount.arg("mount").arg(export).arg(folder).args(["-o", &format!("vers={version},ro,mountport={PORT}")]);
    command::run(mount)?;
    Ok(Mounted(folder.to_owned()))
}

fn read_mounted(file: &Path) -> Outcome<Figures> {
    let mut dd = Command::new("dd");
    dd.arg(format!("if={}", file.display())).args(["of=/dev/null", "bs=1M", "status=none"]);
    let start = Instant::now();
    command::run(dd)?;
    Ok(Figures::from([(RATE.to_owned(), FILE_BYTES as f64 / 1e6 / start.elapsed().as_secs_f64())]))
}
