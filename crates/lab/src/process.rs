//! What a process spent and how much memory it has, from `/proc` (proc(5)).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use measure::CpuUse;
use nix::errno::Errno;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// The most threads of one process whose context switches are counted.
const MAX_THREADS: usize = 4096;

/// Which process to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Process {
    /// This one.
    This,
    /// The one with this number.
    Id(u32),
    /// All children of this one that have ended and were waited for.
    Children,
}

/// How much memory a process has, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// What is in memory now (`VmRSS`).
    pub resident_bytes: u64,
    /// The most there ever was (`VmHWM`).
    pub peak_resident_bytes: u64,
}

/// Why a process cannot be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such file: the process is gone, or this system has no `/proc`.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The clock of its processor time cannot be read.
    #[error("cannot read the processor time of {}: {source}", path.display())]
    Clock {
        /// Its folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is not as proc(5) says.
    #[error("{} has no {what}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is not there.
        what: &'static str,
    },
}

impl Process {
    /// What the process spent since its start, on all its threads. The whole time is read first, in nanoseconds; its
    /// parts come in steps of 10 ms. The context switches are those of threads that are still there.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn cpu(self) -> Result<CpuUse, Error> {
        let total = self.time();
        let path = self.folder().join("stat");
        let text = read(&path)?;
        // The second field is the program's name in parentheses, and may itself hold spaces and parentheses.
        let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let missing = || Error::Format { path: path.clone(), what: "times" };
        let field = |number: usize| numbered(after_name, number).ok_or_else(missing);
        Ok(CpuUse {
            total: total?,
            user: ticks(field(14)?),
            system: ticks(field(15)?),
            context_switches: self.context_switches(),
            major_faults: field(12)?,
            minor_faults: field(10)?,
        })
    }

    /// The processor time since its start, on all its threads.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn time(self) -> Result<Duration, Error> {
        self.clock().map_err(|source| Error::Clock { path: self.folder(), source: source.into() })
    }

    /// The process's clock of processor time (clock_getcpuclockid(3)); children have none, but for their sum
    /// (getrusage(2)).
    fn clock(self) -> Result<Duration, Errno> {
        let pid = match self {
            Process::This => Pid::this(),
            Process::Id(id) => Pid::from_raw(i32::try_from(id).map_err(|_| Errno::ESRCH)?),
            Process::Children => {
                let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
                return Ok(duration(usage.user_time()) + duration(usage.system_time()));
            }
        };
        clock_getcpuclockid(pid).and_then(clock_gettime).map(Duration::from)
    }

    /// How much memory the process has.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn memory(self) -> Result<Memory, Error> {
        let path = self.folder().join("status");
        let text = read(&path)?;
        let bytes = |name: &str| labelled(&text, name).map(|kib| kib * 1024);
        let missing = || Error::Format { path: path.clone(), what: "VmRSS and VmHWM" };
        let (resident_bytes, peak_resident_bytes) = bytes("VmRSS:").zip(bytes("VmHWM:")).ok_or_else(missing)?;
        Ok(Memory { resident_bytes, peak_resident_bytes })
    }

    fn context_switches(self) -> u64 {
        let Ok(threads) = fs::read_dir(self.folder().join("task")) else { return 0 };
        let statuses =
            threads.take(MAX_THREADS).flatten().filter_map(|thread| read(&thread.path().join("status")).ok());
        let of = |status: &str, name| labelled(status, name).unwrap_or(0);
        statuses.map(|s| of(&s, "voluntary_ctxt_switches:") + of(&s, "nonvoluntary_ctxt_switches:")).sum()
    }

    fn folder(self) -> PathBuf {
        match self {
            Process::This | Process::Children => "/proc/self".into(),
            Process::Id(id) => format!("/proc/{id}").into(),
        }
    }
}

/// What the kernel's own threads have spent since the machine started, in ticks: file systems and block devices have
/// them work for processes. Zero where they cannot be seen, as in most containers.
pub(crate) fn kernel_threads() -> Duration {
    let Ok(processes) = fs::read_dir("/proc") else { return Duration::ZERO };
    let is_process = |name: &OsStr| name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
    let folders = processes.flatten().filter(|entry| is_process(&entry.file_name()));
    let texts = folders.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    ticks(texts.filter_map(|stat| kernel_thread_ticks(&stat)).sum())
}

/// User and system time of a kernel thread, from its `/proc/PID/stat`; `None` for a process.
fn kernel_thread_ticks(stat: &str) -> Option<u64> {
    /// `PF_KTHREAD` of the kernel's `sched.h`.
    const KERNEL_THREAD: u64 = 0x0020_0000;
    let (_, after_name) = stat.rsplit_once(')')?;
    let is_kernels = numbered(after_name, 9)? & KERNEL_THREAD != 0;
    is_kernels.then_some(numbered(after_name, 14)? + numbered(after_name, 15)?)
}

fn duration(time: TimeVal) -> Duration {
    Duration::new(time.tv_sec().unsigned_abs(), time.tv_usec().unsigned_abs() as u32 * 1000)
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// The field of `/proc/PID/stat` that proc(5) gives this number, where `text` begins with the third.
fn numbered(text: &str, number: usize) -> Option<u64> {
    text.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

/// The number behind a label at the start of a line.
fn labelled(text: &str, label: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(label))?;
    value.split_whitespace().next()?.parse().ok()
}

fn ticks(count: u64) -> Duration {
    Duration::from_secs_f64(count as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn time_that_this_process_works_is_counted_as_its_own() {
        let before = Process::This.cpu().unwrap();
        let began = Instant::now();
        let mut sum = 0_u64;
        while (Process::Id(std::process::id()).cpu().unwrap() - before).total < Duration::from_millis(20) {
            (0..1000).for_each(|_| sum = sum.wrapping_add(std::hint::black_box(sum) | 1));
            assert!(began.elapsed() < Duration::from_secs(60), "no work is counted");
        }
    }

    #[test]
    fn time_of_a_process_is_finer_than_a_tick_and_the_sum_of_its_parts_but_for_ticks() {
        let samples: Vec<CpuUse> = (0..20).map(|_| Process::This.cpu().unwrap()).collect();
        assert!(samples.windows(2).all(|pair| pair[0].total < pair[1].total), "{samples:?}");
        let last = samples[19];
        let tick = Duration::from_millis(50);
        assert!(last.total.abs_diff(last.user + last.system) < tick, "{last:?}");
    }

    #[test]
    fn memory_that_is_touched_is_resident() {
        // Other tests of this process take and free memory meanwhile, but none takes this away.
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let memory = Process::This.memory().unwrap();
        assert!(memory.resident_bytes >= 60 << 20, "{memory:?}");
        assert!(memory.peak_resident_bytes >= memory.resident_bytes, "{memory:?}");
        drop(block);
    }

    #[test]
    fn process_that_is_not_there_is_named() {
        let error = Process::Id(u32::MAX).cpu().unwrap_err();
        assert!(error.to_string().contains("/proc/4294967295/stat"), "{error}");
    }

    #[test]
    fn name_of_a_program_with_a_parenthesis_shifts_no_field() {
        let text = "7 (a) b) S 1 2 3 4 -1 5 600 7 800 9 1400 1500 0";
        let after_name = text.rsplit_once(')').unwrap().1;
        assert_eq!([10, 12, 14, 15].map(|number| numbered(after_name, number)), [600, 800, 1400, 1500].map(Some));
    }

    #[test]
    fn time_of_a_kernel_thread_is_told_from_that_of_a_process() {
        let stat = |flags: u64| format!("7 (kworker/u8:4-ext4) I 2 0 0 0 -1 {flags} 0 0 0 0 1400 1500 0");
        assert_eq!(kernel_thread_ticks(&stat(69_238_880)), Some(2900));
        assert_eq!(kernel_thread_ticks(&stat(4_194_560)), None);
    }
}
