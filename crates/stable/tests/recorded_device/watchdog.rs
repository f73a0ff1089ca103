//! Ends the bay of a test that was killed. Threads of it that wait for a disk cannot die, and the disks are served by
//! threads that are dead already: only somebody else can end that.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

/// Waits until the process is gone or nothing but a zombie, and has the kernel fail what waits for the mount then.
const SCRIPT: &str = r#"
while read -r stat 2>/dev/null < "/proc/$1/stat"; do
    case "${stat##*) }" in Z*|X*) break ;; esac
    sleep 1
done
umount --force "$2"
"#;

/// Watches this process as long as it lives.
pub struct Watchdog(Child);

impl Watchdog {
    pub fn new(bay: &Path) -> Watchdog {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "watchdog", &std::process::id().to_string()]).arg(bay);
        // A signal to the tests' group, of Ctrl-C or timeout(1), must leave it alive.
        shell.process_group(0);
        // It must not keep alive what waits for the end of the output.
        shell
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        Watchdog(shell.spawn().unwrap())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    use std::time::Duration;

    use rustix::mount::{MountFlags, mount};
    use rustix::process::{Pid, Signal, kill_process_group};
    use testing::disks::enter_mount_namespace;
    use testing::wait_until;

    /// Names the mount to a copy of this program, which is killed with its group.
    const WATCHED: &str = "WHARF_WATCHED";
    const READY: &str = "watches";

    #[test]
    fn mount_ends_when_the_group_of_the_tests_is_killed() {
        if let Some(dir) = std::env::var_os(WATCHED) {
            let _watchdog = Watchdog::new(Path::new(&dir));
            println!("{READY}");
            std::thread::sleep(Duration::MAX);
        }
        if !enter_mount_namespace() {
            return;
        }
        let dir = std::env::temp_dir().join(format!("wharf-watched-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        mount("none", &dir, "tmpfs", MountFlags::empty(), None).unwrap();
        std::fs::write(dir.join("is-mounted"), "").unwrap();
        let mut tests = start_copy(&dir);
        kill_process_group(Pid::from_child(&tests), Signal::INT).unwrap();
        tests.wait().unwrap();
        wait_until("the mount has ended", || !dir.join("is-mounted").exists());
        std::fs::remove_dir(&dir).unwrap();
    }

    /// Starts this test in a group of its own, where it watches a mount.
    fn start_copy(dir: &Path) -> Child {
        let mut copy = Command::new(std::env::current_exe().unwrap());
        copy.args(["--exact", "watchdog::tests::mount_ends_when_the_group_of_the_tests_is_killed", "--nocapture"]);
        let mut copy = copy.env(WATCHED, dir).process_group(0).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(copy.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.contains(READY)), "the copy ended");
        copy
    }
}
