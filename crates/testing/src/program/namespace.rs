//! A network of its own with a loopback device, so that port 111 of this machine is not touched, and an empty /run.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// Mounts of other tests are copied into a new namespace, and would outlive their tests there.
const GIVE_UP_MOUNTS: &str =
    "cat /proc/self/mounts | while read -r _ dir kind _; do case $kind in fuse*) umount -l \"$dir\" ;; esac; done;";

/// The namespaces, as long as this lives.
pub struct Namespace {
    holder: Child,
}

impl Namespace {
    /// Makes one, or says why that is not possible.
    pub fn new() -> Option<Namespace> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only the superuser can make network namespaces");
            return None;
        }
        // The shell is the holder: it waits until nobody writes to it any more.
        let script = "mount -t tmpfs tmpfs /run && ip link set lo up && echo made && read -r end";
        let script = format!("{GIVE_UP_MOUNTS} {script}");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut holder) = command.spawn() else {
            println!("skipped: there is no unshare; install util-linux");
            return None;
        };
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line != "made\n" {
            let _ = holder.wait();
            println!("skipped: no network namespace can be made here, or there is no ip; install iproute2");
            return None;
        }
        Some(Namespace { holder })
    }

    /// A program in it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.holder.id())).args(["--mount", "--net", "--"]).arg(program);
        command
    }

    /// Runs a program of the system in it, or says that it is not here.
    pub fn tool(&self, package: &str, program: &str, arguments: &[&str]) -> Option<Output> {
        if !is_installed(program) {
            println!("skipped: there is no {program}; install {package}");
            return None;
        }
        Some(self.command(program).args(arguments).output().unwrap())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Whether there is a program of this name. What belongs to the superuser may not be on the path.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').chain(["/usr/sbin", "/sbin"]).any(|dir| std::path::Path::new(dir).join(program).exists())
}
