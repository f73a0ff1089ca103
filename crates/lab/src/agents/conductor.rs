//! The end that has agents load in step.

use std::cell::Cell;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use measure::record::JobSummary;

use super::message::{self, Figures, Hello, MAX_HELLO_BYTES, MAX_REPORT_BYTES, MessageError, Order, Report, Welcome};
use super::{Clock, Error, Token};
use crate::bench::{Job, Stop};
use crate::leftovers;

/// How long an agent may be silent. One at work says every second that it is alive.
const MAX_SILENCE: Duration = Duration::from_secs(10);
/// How often an agent is asked for its time.
const CLOCK_EXCHANGES: usize = 16;
/// How exactly an agent's clock must be known.
const MAX_UNCERTAINTY: Duration = Duration::from_millis(10);
/// From the orders to start to the start: time for all orders to arrive.
const LEAD: Duration = Duration::from_millis(200);

/// Has agents do the same jobs at the same time.
pub struct Conductor {
    hosts: Vec<Host>,
    /// Ends the job, and whether agents were told.
    stop: Stop,
    told: Cell<bool>,
}

/// What a job found.
pub struct Found {
    /// All hosts together.
    pub all: JobSummary,
    /// Each host, in the order of the agents.
    pub hosts: Vec<HostFound>,
}

/// What one host found.
pub struct HostFound {
    /// Its agent.
    pub agent: String,
    /// Its figures.
    pub summary: JobSummary,
    /// How much later than ordered it started, by its own clock.
    pub late: Duration,
    /// How exactly its clock is known.
    pub uncertainty: Duration,
    /// The first failure of an operation.
    pub first_error: Option<String>,
}

impl Conductor {
    /// Connects to all agents, which must have this version, and compares their clocks with this host's. `stop` ends
    /// their jobs.
    ///
    /// # Errors
    /// When an agent cannot be reached, refuses this conductor, or answers too slowly to start in step.
    pub fn connect(agents: &[String], token: &Token, version: &str, stop: Stop) -> Result<Conductor, Error> {
        let connect = |agent: &String| Host::connect(agent, token, version);
        let hosts = agents.iter().map(connect).collect::<Result<_, _>>()?;
        Ok(Conductor { hosts, stop, told: Cell::new(false) })
    }

    /// Passes on that the job is to end. Agents at work report every second, so this is noticed soon.
    fn pass_on_stop(&self) -> Result<(), Error> {
        if !self.stop.is_stopped() {
            return Ok(());
        }
        leftovers::note_progress();
        if self.told.replace(true) {
            return Ok(());
        }
        self.hosts.iter().try_for_each(|host| host.order(&Order::Stop))
    }

    /// Has all agents do the job of this number of a command line, which is `job`. The first one prepares its files
    /// before the others begin, so that only one makes a file that all use.
    ///
    /// # Errors
    /// When an agent cannot do it or is lost. The others then end when this conductor is dropped.
    pub fn run(&mut self, command_line: &[String], number: usize, job: &Job) -> Result<Found, Error> {
        let all = self.hosts.iter().zip(0..).collect::<Vec<_>>();
        let (first, others) = all.split_at(1.min(all.len()));
        for part in [first, others] {
            for (host, index) in part {
                let command_line = command_line.to_vec();
                host.order(&Order::Prepare { command_line, job: number, host: *index })?;
            }
            part.iter().try_for_each(|(host, _)| host.wait_until_ready(&|| self.pass_on_stop()))?;
        }
        if self.stop.is_stopped() {
            return Err(Error::Stopped);
        }
        let clocks = self.hosts.iter().map(Host::compare_clocks).collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now() + LEAD;
        for (host, clock) in self.hosts.iter().zip(&clocks) {
            host.order(&Order::Start { at: clock.there(start) })?;
        }
        let figures =
            self.hosts.iter().map(|host| host.figures(&|| self.pass_on_stop())).collect::<Result<Vec<_>, _>>()?;
        let hosts: Vec<HostFound> = (self.hosts.iter().zip(clocks).zip(figures))
            .map(|((host, clock), figures)| host.found(clock, figures, job))
            .collect();
        let all = JobSummary::together(hosts.iter().map(|host| &host.summary)).ok_or(Error::NoAgents)?;
        Ok(Found { all, hosts })
    }
}

/// What is done whenever an agent says that it is alive.
type OnAlive<'a> = &'a dyn Fn() -> Result<(), Error>;

/// A host with an agent.
struct Host {
    agent: String,
    stream: TcpStream,
}

impl Host {
    fn connect(agent: &str, token: &Token, version: &str) -> Result<Host, Error> {
        let stream = connect(agent).map_err(|source| Error::Unreachable { agent: agent.to_owned(), source })?;
        let host = Host { agent: agent.to_owned(), stream };
        host.lost(message::send(&host.stream, &Hello { version: version.to_owned(), token: token.text() }))?;
        match host.lost(message::receive(&host.stream, MAX_HELLO_BYTES))? {
            Welcome::Accepted => {}
            Welcome::WrongToken => return Err(Error::WrongToken(host.agent)),
            Welcome::OtherVersion(is) => {
                return Err(Error::OtherVersion { agent: host.agent, is, wanted: version.to_owned() });
            }
        }
        host.compare_clocks()?;
        Ok(host)
    }

    fn lost<T>(&self, result: Result<T, MessageError>) -> Result<T, Error> {
        result.map_err(|source| Error::Lost { agent: self.agent.clone(), source })
    }

    fn order(&self, order: &Order) -> Result<(), Error> {
        self.lost(message::send(&self.stream, order))
    }

    /// The next report but those that the agent is alive, after which something is done.
    fn report(&self, on_alive: OnAlive<'_>) -> Result<Report, Error> {
        loop {
            match self.lost(message::receive(&self.stream, MAX_REPORT_BYTES))? {
                Report::Alive => on_alive()?,
                Report::Failed(why) => return Err(Error::Failed { agent: self.agent.clone(), why }),
                report => return Ok(report),
            }
        }
    }

    fn disorder<T>(&self) -> Result<T, Error> {
        Err(Error::Disorder(self.agent.clone()))
    }

    fn wait_until_ready(&self, on_alive: OnAlive<'_>) -> Result<(), Error> {
        let Report::Ready = self.report(on_alive)? else { return self.disorder() };
        Ok(())
    }

    fn figures(&self, on_alive: OnAlive<'_>) -> Result<Figures, Error> {
        let Report::Found(figures) = self.report(on_alive)? else { return self.disorder() };
        Ok(*figures)
    }

    fn compare_clocks(&self) -> Result<Clock, Error> {
        let mut best: Option<Clock> = None;
        for _ in 0..CLOCK_EXCHANGES {
            let sent = Instant::now();
            self.order(&Order::TellTime)?;
            let Report::Time(there) = self.report(&|| Ok(()))? else { return self.disorder() };
            let clock = Clock::of(sent, there, Instant::now());
            best = Some(best.map_or(clock, |best| best.better(clock)));
        }
        match best {
            Some(clock) if clock.uncertainty() <= MAX_UNCERTAINTY => Ok(clock),
            Some(clock) => {
                let (agent, uncertainty) = (self.agent.clone(), clock.uncertainty());
                Err(Error::Clock { agent, uncertainty, max: MAX_UNCERTAINTY })
            }
            None => self.disorder(),
        }
    }

    fn found(&self, clock: Clock, figures: Figures, job: &Job) -> HostFound {
        let (late, first_error) = (figures.late, figures.first_error.clone());
        let agent = self.agent.clone();
        let mut summary = figures.into_summary(job.summary_of_nothing());
        summary.name = format!("{} on {agent}", job.name);
        HostFound { agent, summary, late, uncertainty: clock.uncertainty(), first_error }
    }
}

/// Connects to the first address of an agent that answers.
fn connect(agent: &str) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in agent.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, MAX_SILENCE) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(MAX_SILENCE))?;
                stream.set_write_timeout(Some(MAX_SILENCE))?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}
