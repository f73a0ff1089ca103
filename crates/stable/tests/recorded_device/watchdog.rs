//! Ends the bay of a test that was killed. Threads of it that wait for a disk cannot die, and the disks are served by
//! threads that are dead already: only somebody else can end that.

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
