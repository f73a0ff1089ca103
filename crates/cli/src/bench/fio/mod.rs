//! Job files of fio. What a key says becomes the option of `wharf bench` that means the same, so that both have one
//! meaning and one check. What would be measured differently is refused.

mod ini;
mod settings;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use lab::bench::Workload;

use self::ini::{Section, Setting};
use self::settings::{Settings, refuse};
use super::load::Load;
use crate::failure::{FioError, FioProblem as Problem};

/// A job of the file.
#[derive(Debug)]
pub(super) struct FioJob {
    pub(super) name: String,
    pub(super) workload: Workload,
    pub(super) load: Load,
    /// How many bytes it moves, unless time ends it.
    pub(super) bytes: Option<u64>,
}

/// The most bytes of a job file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The jobs of a file in their order.
pub(super) fn read(path: &Path) -> Result<Vec<FioJob>, FioError> {
    let text = text(path).map_err(|source| FioError::Read { path: path.to_owned(), source })?;
    jobs(&text).map_err(|(line, problem)| FioError::Line { path: path.to_owned(), line, problem })
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 {
        0..=MAX_FILE_BYTES => Ok(text),
        _ => Err(io::Error::new(io::ErrorKind::FileTooLarge, "a job file has 1 MiB at most: split it")),
    }
}

fn jobs(text: &str) -> Result<Vec<FioJob>, (usize, Problem)> {
    ini::sections(text)?.iter().enumerate().map(|(index, section)| job(section, index == 0)).collect()
}

/// The size of an operation, as fio has it unless told otherwise.
const DEFAULT_BLOCK: &str = "4k";

/// Keys whose values an option takes as they are.
const SAME: [(&str, &str); 12] = [
    ("bssplit", "bssplit"),
    ("buffer_compress_percentage", "compress"),
    ("filename", "file"),
    ("fsync", "fsync"),
    ("numjobs", "connections"),
    ("ramp_time", "ramp-time"),
    ("random_distribution", "random-distribution"),
    ("randseed", "seed"),
    ("runtime", "runtime"),
    ("rw", "rw"),
    ("rwmixread", "rwmixread"),
    ("size", "size"),
];

/// What a section of the file says.
fn job(section: &Section, is_first: bool) -> Result<FioJob, (usize, Problem)> {
    let mut settings = Settings::of(section);
    if !settings.is_on("stonewall") && !is_first {
        return Err((section.line, Problem::Parallel(section.name.clone())));
    }
    if settings.value("size").is_none() {
        return Err((section.line, Problem::NoSize(section.name.clone())));
    }
    check_time(&mut settings)?;
    check_file(&settings)?;
    let is_shared = settings.value("filename").is_some();
    let io_size = settings.take("io_size");
    let mut options = Options::default();
    options.add_depth(&mut settings)?;
    options.add_rate(&mut settings)?;
    options.add_block_size(&mut settings)?;
    options.add_data(&mut settings)?;
    options.add_rest(&mut settings)?;
    settings.check_rest()?;
    let mut load = options.parse(section)?;
    let [workload] = load.rw[..] else {
        let why = "a job has one workload: use a job for each".to_owned();
        return Err((section.line, Problem::Section { section: section.name.clone(), why }));
    };
    let io_bytes = io_size.map(|setting| size(&setting)).transpose()?.or(load.size);
    let is_timed = load.runtime.is_some();
    load.own_files = load.connections > 1 && !is_shared;
    let bytes = io_bytes.filter(|_| !is_timed).map(|bytes| bytes.saturating_mul(load.connections.into()));
    Ok(FioJob { name: section.name.clone(), workload, load, bytes })
}

/// A time without `time_based` would end the job at whichever comes first, the time or the bytes.
fn check_time(settings: &mut Settings) -> Result<(), (usize, Problem)> {
    if settings.is_on("time_based") {
        return Ok(());
    }
    let Some(setting) = settings.take("runtime").or_else(|| settings.take("ramp_time")) else { return Ok(()) };
    Options::default().add("runtime", &setting.value, &setting)?;
    Err(refuse(&setting, "a job ends after a time or after its bytes: add time_based"))
}

fn check_file(settings: &Settings) -> Result<(), (usize, Problem)> {
    let is_one_name = |name: &str| !name.starts_with('/') && !name.contains(':');
    match settings.get("filename").filter(|setting| !is_one_name(&setting.value)) {
        Some(setting) => Err(refuse(setting, "name one file, relative to the URL")),
        None => Ok(()),
    }
}

fn size(setting: &Setting) -> Result<u64, (usize, Problem)> {
    config::parse_size(&setting.value).map_err(|error| refuse(setting, error.to_string()))
}

/// Engines that have one operation in flight, whatever `iodepth` says; fio uses the first one unless told otherwise.
const SYNCHRONOUS: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];
const ASYNCHRONOUS: [&str; 3] = ["libaio", "io_uring", "posixaio"];

/// Options of the command line, and the settings that they come from.
#[derive(Debug, Default)]
struct Options(Vec<String>);

impl Options {
    /// Adds an option, whose value the command line checks. Returns what it alone means.
    fn add(&mut self, option: &str, value: &str, setting: &Setting) -> Result<Load, (usize, Problem)> {
        let argument = format!("--{option}={value}");
        let load = Load::parse(std::slice::from_ref(&argument)).map_err(|error| refuse(setting, said(&error)))?;
        self.0.push(argument);
        Ok(load)
    }

    /// The size of operations. Two sizes are those of reads and of writes.
    fn add_block_size(&mut self, settings: &mut Settings) -> Result<(), (usize, Problem)> {
        match settings.take("bs") {
            _ if settings.value("bssplit").is_some() => Ok(()),
            Some(setting) => {
                let option = if setting.value.contains(',') { "bssplit" } else { "bs" };
                self.add(option, &setting.value, &setting).map(drop)
            }
            None => {
                self.0.push(format!("--bs={DEFAULT_BLOCK}"));
                Ok(())
            }
        }
    }

    fn add_depth(&mut self, settings: &mut Settings) -> Result<(), (usize, Problem)> {
        let engine = settings.take("ioengine");
        let name = engine.as_ref().map_or(SYNCHRONOUS[0], |engine| engine.value.as_str());
        let is_synchronous = SYNCHRONOUS.contains(&name);
        if let Some(engine) = engine.as_ref().filter(|_| !is_synchronous && !ASYNCHRONOUS.contains(&name)) {
            let known = [&SYNCHRONOUS[..], &ASYNCHRONOUS].concat().join(", ");
            return Err(refuse(engine, format!("operations are those of Wharf's client; {known} mean the same")));
        }
        let Some(depth) = settings.take("iodepth") else { return Ok(()) };
        let load = self.add("iodepth", &depth.value, &depth)?;
        if is_synchronous && load.iodepth != 1 {
            let why = format!("ioengine={name} has one operation in flight: set ioengine=libaio, or remove iodepth");
            return Err(refuse(&depth, why));
        }
        Ok(())
    }

    /// fio limits each job in reads and writes each; the option limits operations of all connections together.
    fn add_rate(&mut self, settings: &mut Settings) -> Result<(), (usize, Problem)> {
        let process = match settings.take("rate_process") {
            Some(process) if process.value == "poisson" => ",poisson",
            Some(process) if process.value != "linear" => return Err(refuse(&process, "set linear or poisson")),
            _ => "",
        };
        let (rate, unit_bytes) = match (settings.take("rate_iops"), settings.take("rate")) {
            (Some(rate), None) => (rate, Some(1)),
            (None, Some(rate)) => (rate, block_bytes(settings)),
            (Some(_), Some(rate)) => return Err(refuse(&rate, "rate_iops is set too: keep one of them")),
            (None, None) => return Ok(()),
        };
        let per_job = size(&rate)? as f64;
        if settings.value("rw").is_some_and(|rw| rw.ends_with("rw") || rw == "readwrite") {
            return Err(refuse(&rate, "a rate of reads and writes each is not possible: use a job for each"));
        }
        let Some(unit_bytes) = unit_bytes else {
            return Err(refuse(&rate, "operations of several sizes have no such rate: set rate_iops"));
        };
        let jobs: u64 = settings.value("numjobs").map_or(Some(1), |count| count.parse().ok()).unwrap_or(1);
        let per_second = per_job / unit_bytes as f64 * jobs as f64;
        self.add("rate", &format!("{per_second}{process}"), &rate).map(drop)
    }

    /// What is written, and past which cache.
    fn add_data(&mut self, settings: &mut Settings) -> Result<(), (usize, Problem)> {
        let is_fresh = settings.is_on("refill_buffers") && settings.value("buffer_compress_percentage").is_none();
        if settings.is_on("zero_buffers") {
            self.0.push("--compress=100".to_owned());
        } else if is_fresh {
            self.0.push("--compress=0".to_owned());
        }
        if settings.value("direct") == Some("1") {
            self.0.push("--direct".to_owned());
        }
        match settings.take("sync").filter(|sync| sync.value != "none") {
            Some(sync) if ["1", "sync", "dsync"].contains(&sync.value.as_str()) => self.0.push("--sync".to_owned()),
            Some(sync) => return Err(refuse(&sync, "set none, sync or dsync")),
            None => {}
        }
        Ok(())
    }

    /// What has the same meaning, or nearly.
    fn add_rest(&mut self, settings: &mut Settings) -> Result<(), (usize, Problem)> {
        if let Some(writes) = settings.take("rwmixwrite") {
            let reads = writes.value.parse().ok().and_then(|percent: u8| 100_u8.checked_sub(percent));
            let reads = reads.ok_or_else(|| refuse(&writes, "set a percentage from 0 to 100"))?;
            self.add("rwmixread", &reads.to_string(), &writes)?;
        }
        if let Some(time) = settings.take("thinktime") {
            let unit = if time.value.bytes().all(|byte| byte.is_ascii_digit()) { "us" } else { "" };
            self.add("thinktime", &format!("{}{unit}", time.value), &time)?;
        }
        for (key, option) in SAME {
            if let Some(setting) = settings.take(key) {
                self.add(option, &setting.value, &setting)?;
            }
        }
        Ok(())
    }

    /// The load of all options together.
    fn parse(&self, section: &Section) -> Result<Load, (usize, Problem)> {
        let contradiction = |error| Problem::Section { section: section.name.clone(), why: said(&error) };
        Load::parse(&self.0).map_err(|error| (section.line, contradiction(error)))
    }
}

/// The size of an operation, where all have one.
fn block_bytes(settings: &Settings) -> Option<u64> {
    let has_one = settings.value("bssplit").is_none();
    has_one.then(|| config::parse_size(settings.value("bs").unwrap_or(DEFAULT_BLOCK)).ok())?.filter(|bytes| *bytes > 0)
}

/// What the command line says to wrong options, without its hints.
fn said(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn loads(text: &str) -> Vec<FioJob> {
        jobs(text).unwrap()
    }

    fn refused(text: &str) -> String {
        let (line, problem) = jobs(text).unwrap_err();
        format!("{line}: {problem}")
    }

    #[test]
    fn keys_become_the_options_that_mean_the_same() {
        let text = "\
[global]
ioengine=libaio
direct=1
group_reporting
size=64m
bs=8k ; of all
[one]
readwrite=randrw
rwmixwrite=30
iodepth=16
numjobs=4
runtime=2m
ramp_time=5
time_based
thinktime=250
fsync=32
random_distribution=zipf:1.2
randseed=7
buffer_compress_percentage=40
[two]
stonewall
rw=randwrite
bssplit=4k/60:64k/40
sync=dsync
refill_buffers
filename=data
numjobs=2
io_size=1m
";
        let [one, two] = loads(text).try_into().unwrap();
        let Load { rwmixread, bs, iodepth, connections, runtime, ramp_time, thinktime, .. } = &one.load;
        assert_eq!((one.name.as_str(), one.workload.to_string(), one.bytes), ("one", "randrw".to_owned(), None));
        assert_eq!((*rwmixread, *bs, *iodepth, *connections), (Some(70), Some(8192), 16, 4));
        assert_eq!((*runtime, *ramp_time), (Some(Duration::from_secs(120)), Duration::from_secs(5)));
        assert_eq!((*thinktime, one.load.seed, one.load.compress), (Duration::from_micros(250), 7, Some(40)));
        assert_eq!(one.load.random_distribution.to_string(), "zipf:1.2");
        assert!(one.load.fsync.is_some_and(|every| every.get() == 32) && one.load.own_files && !one.load.sync);
        assert!(one.load.direct && two.load.direct);
        assert_eq!((two.bytes, two.load.file.as_deref(), two.load.bs), (Some(2 << 20), Some("data"), None));
        assert!(two.load.bssplit.is_some() && two.load.sync && !two.load.own_files);
        assert_eq!(two.load.compress, Some(0));
    }

    #[test]
    fn defaults_are_those_of_fio_and_each_clone_moves_the_size() {
        let [job] = loads("[x]\nsize=1m\nnumjobs=3").try_into().unwrap();
        assert_eq!((job.workload.to_string(), job.load.bs, job.bytes), ("read".to_owned(), Some(4096), Some(3 << 20)));
    }

    #[test]
    fn rate_of_each_job_becomes_that_of_all_connections() {
        let rate = |text: &str| loads(text).remove(0).load.rate.unwrap().to_string();
        assert_eq!(rate("[x]\nsize=1m\nbs=8k\nrate=1m\nnumjobs=2"), "256");
        assert_eq!(rate("[x]\nsize=1m\nrate_iops=50\nrate_process=poisson"), "50,poisson");
    }

    #[test]
    fn what_would_be_measured_differently_is_refused_with_line_and_key() {
        for (lines, expected) in [
            ("rw=trim", "3: rw=trim: "),
            ("rw=read,write", "1: [x]: a job has one workload"),
            ("bs=4q", "3: bs=4q: "),
            ("iodepth=8", "3: iodepth=8: ioengine=psync has one operation in flight"),
            ("iodepth=zz", "3: iodepth=zz: invalid value 'zz'"),
            ("runtime=zz", "3: runtime=zz: invalid value 'zz'"),
            ("rw=randrw\nrate=zz", "4: rate=zz: \"zz\" is not a size"),
            ("ioengine=rbd", "3: ioengine=rbd: "),
            ("runtime=5", "3: runtime=5: a job ends after a time or after its bytes"),
            ("ramp_time=5", "3: ramp_time=5: "),
            ("rw=randrw\nrate=1m", "4: rate=1m: a rate of reads and writes each"),
            ("bssplit=4k/50:8k/50\nrate=1m", "4: rate=1m: operations of several sizes"),
            ("rate_iops=5\nrate=1m", "4: rate=1m: rate_iops is set too"),
            ("direct=0", "3: direct=0: operations go over the wire"),
            ("nrfiles=4", "3: nrfiles=4: "),
            ("filename=/mnt/x", "3: filename=/mnt/x: name one file"),
            ("random_distribution=zoned:60/10:40/90", "3: random_distribution=zoned:60/10:40/90: "),
            ("thinktime_blocks=4", "3: thinktime_blocks=4: "),
            ("verify=crc32c", "3: verify is not supported"),
            ("rate_iops=5\nthinktime=5", "1: [x]: "),
            ("[y]\nsize=1m", "3: [y] would run beside the section above"),
            ("[y]\nstonewall\nsize=20%", "5: size=20%: "),
        ] {
            let said = refused(&format!("[x]\nsize=1m\n{lines}"));
            assert!(said.starts_with(expected), "{said}");
        }
        assert!(refused("[x]\nrw=read").starts_with("1: [x] has no size"));
    }
}
