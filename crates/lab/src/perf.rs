//! perf: how it is told to begin and end, and samples of what processes do.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use inferno::collapse::Collapse;
use inferno::collapse::perf::{Folder, Options};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};

use crate::sys;

/// The program.
pub(crate) const PERF: &str = "perf";
/// The pipes that perf takes commands from, and answers in.
pub(crate) const PIPES: [&str; 2] = ["perf-control", "perf-answers"];
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// How often a second samples are taken. It shares no divisor with the kernel's ticks.
pub(crate) const SAMPLES_PER_SECOND: u32 = 199;
/// Stacks are found by the tables that unwind panics: Wharf's release has no frame pointers. Each sample has so many
/// bytes of a stack.
const CALL_GRAPH: &str = "dwarf,16384";
/// The most that perf writes in one pass.
const MAX_DATA: &str = "256M";
/// The most different stacks that are kept.
const MAX_STACKS: usize = 100_000;

/// Why there are no samples.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PerfError {
    /// A file cannot be made or read.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// perf does not do its part.
    #[error("`{command}`: {said}")]
    Failed { command: &'static str, said: String },
}

/// Makes the pipes in a folder; what `--control` is told.
pub(crate) fn make_pipes(folder: &Path) -> io::Result<String> {
    let pipes = PIPES.map(|name| folder.join(name));
    for pipe in &pipes {
        let _ = fs::remove_file(pipe);
        mkfifo(pipe, Mode::S_IRUSR | Mode::S_IWUSR)?;
    }
    let [control, answers] = pipes.map(|pipe| pipe.display().to_string());
    Ok(format!("fifo:{control},{answers}"))
}

/// Has the perf of these pipes begin or stop (perf-stat(1), perf-record(1), --control).
pub(crate) fn switch(folder: &Path, is_on: bool) -> io::Result<()> {
    let open = |name: &str| {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        File::options().read(true).write(true).custom_flags(flags).open(folder.join(name))
    };
    let [control, answers] = PIPES;
    // A pipe that nobody has open forgets what was written: perf may be starting.
    let mut control = open(control)?;
    control.write_all(if is_on { b"enable\n" } else { b"disable\n" })?;
    let (mut answers, mut answer, began) = (open(answers)?, [0; 16], Instant::now());
    while began.elapsed() < TIMEOUT {
        match answers.read(&mut answer) {
            Ok(count) if answer[..count].starts_with(b"ack") => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => thread::sleep(POLL_INTERVAL),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Why perf takes no samples here, if it does not.
pub(crate) fn missing() -> Option<String> {
    let mut command = Command::new(PERF);
    command.args(["record", "-q", "-o", "/dev/null", "--", "true"]).stdin(Stdio::null());
    match command.output() {
        Err(error) => Some(format!("perf cannot be started: {error}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().map(str::trim).find(|line| !line.is_empty() && *line != "Error:");
            Some(format!("perf is not allowed: {}", first.unwrap_or("it says nothing")))
        }
    }
}

/// perf that takes samples of processes.
#[derive(Debug)]
pub(crate) struct Recording {
    perf: Child,
    folder: PathBuf,
}

impl Recording {
    /// Begins to sample processes; `folder` is for files of its own.
    pub(crate) fn start(folder: &Path, pids: &[u32]) -> Result<Recording, PerfError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PerfError::File { path, source }
        };
        let control = make_pipes(folder).map_err(failed(folder))?;
        // perf would keep an earlier pass beside this one. Usually there is none.
        let _ = fs::remove_file(data(folder));
        let log = folder.join("perf.log");
        let log = File::create(&log).map_err(failed(&log))?;
        let pids = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let frequency = SAMPLES_PER_SECOND.to_string();
        let mut command = Command::new(PERF);
        command.args(["record", "-q", "--delay=-1", "--control", &control, "-F", &frequency]);
        command.args(["--call-graph", CALL_GRAPH, "--max-size", MAX_DATA, "-p", &pids, "-o"]).arg(data(folder));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        sys::end_with_parent(&mut command);
        let perf = command.spawn().map_err(failed(Path::new(PERF)))?;
        let recording = Recording { perf, folder: folder.to_owned() };
        switch(folder, true).map_err(|error| recording.failed(&error.to_string()))?;
        Ok(recording)
    }

    /// Ends it. Returns the samples of one of the processes by their stacks.
    pub(crate) fn finish(mut self, pid: u32) -> Result<BTreeMap<String, u64>, PerfError> {
        let process = i32::try_from(self.perf.id()).ok().and_then(Pid::from_raw);
        let _ = process.map(|process| kill_process(process, Signal::INT));
        let began = Instant::now();
        while matches!(self.perf.try_wait(), Ok(None)) {
            if began.elapsed() > TIMEOUT {
                return Err(self.failed("it does not end"));
            }
            thread::sleep(POLL_INTERVAL);
        }
        folded(&data(&self.folder), pid)
    }

    fn failed(&self, problem: &str) -> PerfError {
        let log = fs::read_to_string(self.folder.join("perf.log")).unwrap_or_default();
        let said = [problem, log.trim()].join(" ").trim().to_owned();
        PerfError::Failed { command: "perf record", said }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.perf.kill();
        let _ = self.perf.wait();
    }
}

fn data(folder: &Path) -> PathBuf {
    folder.join("perf.data")
}

fn folded(data: &Path, pid: u32) -> Result<BTreeMap<String, u64>, PerfError> {
    let failed = |said: String| PerfError::Failed { command: "perf script", said };
    let mut command = Command::new(PERF);
    // Without its period each sample counts once.
    command
        .args(["script", "--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,dso", "--pid", &pid.to_string(), "-i"])
        .arg(data);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    sys::end_with_parent(&mut command);
    let mut script = command.spawn().map_err(|error| failed(error.to_string()))?;
    let stacks = script.stdout.take().map_or(Ok(BTreeMap::new()), stacks_of);
    let status = script.wait().map_err(|error| failed(error.to_string()))?;
    match status.success() {
        true => stacks.map_err(|error| failed(error.to_string())),
        false => Err(failed(format!("it ends with {status}"))),
    }
}

/// The stacks of what `perf script` printed, with their samples.
fn stacks_of(printed: impl Read) -> io::Result<BTreeMap<String, u64>> {
    let mut lines = Vec::new();
    let mut options = Options::default();
    options.nthreads = 1;
    Folder::from(options).collapse(BufReader::new(printed), &mut lines)?;
    let mut stacks = BTreeMap::new();
    for line in String::from_utf8_lossy(&lines).lines() {
        if let Some((stack, count)) = line.rsplit_once(' ')
            && let Ok(count) = count.parse::<u64>()
            && stacks.len() < MAX_STACKS
        {
            *stacks.entry(stack.to_owned()).or_default() += count;
        }
    }
    Ok(stacks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_perf_become_stacks_with_the_outermost_function_first() {
        let printed = "\
loop-1 23923/23924  1527.816600: cpu-clock:pppH: 
\tffffffff821f3125 copy_user ([kernel.kallsyms])
\t         1fc1fd4 net::epoll::send (/w/wharf)
\t           891f5 start_thread (/usr/lib/libc.so.6)

loop-1 23923/23924  1527.821411: cpu-clock:pppH: 
\t         1fc1fd4 net::epoll::send (/w/wharf)
\t           891f5 start_thread (/usr/lib/libc.so.6)

loop-1 23923/23924  1527.825762: cpu-clock:pppH: 
\tffffffff821f3125 copy_user ([kernel.kallsyms])
\t         1fc1fd4 net::epoll::send (/w/wharf)
\t           891f5 start_thread (/usr/lib/libc.so.6)

";
        let expected =
            [("loop-1;start_thread;net::epoll::send", 1), ("loop-1;start_thread;net::epoll::send;copy_user", 2)];
        let expected: BTreeMap<String, u64> = expected.map(|(stack, count)| (stack.to_owned(), count)).into();
        assert_eq!(stacks_of(printed.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn process_that_works_is_sampled_where_perf_is_allowed() {
        if let Some(why) = missing() {
            return println!("skipped: {why}");
        }
        let folder = std::env::temp_dir().join(format!("wharf-perf-test-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let mut busy = Command::new("sh");
        sys::end_with_parent(busy.args(["-c", "while :; do :; done"]));
        let mut busy = busy.spawn().unwrap();
        let recording = Recording::start(&folder, &[busy.id()]).unwrap();
        thread::sleep(Duration::from_millis(500));
        let stacks = recording.finish(busy.id()).unwrap();
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(!stacks.is_empty() && stacks.keys().all(|stack| stack.starts_with("sh;")), "{stacks:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
