//! Scripts for a sender: what it is given, when, and what it has to send then. The form is that of packetdrill.
//!
//! A line is a time and an action; a time with a plus counts from the line before. Numbers count from 0, the SYN's, on
//! both sides.
//!
//! ```text
//! config reno sack=off mss=1000     # before the first action; see `config` +0    > S 0 <mss 1000,sackOK>     # has
//! to be sent: flags, numbers from:to, ack, win, options; left out is not compared +0.01 < S. 0 ack 1 win 60000      #
//! is received; `win` is shifted by no one +0    write 5000                  # the application writes, closes, reads
//! or aborts +0    cwnd 10000                  # what has to be so: cwnd, ssthresh, rto (s), state, failure +1
//! quiet                       # nothing else was sent
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use segments::sender::{Algorithm, Config, Flags, Segment, SegmentOptions, Sender, Transmit};
use segments::{Card, Rule};

/// How far a time may be off.
const TOLERANCE: Duration = Duration::from_micros(1100);

/// Runs a script; says at which line it failed and why.
pub fn run(script: &str) -> Result<(), String> {
    let mut config = Config { card: Card::PLAIN, timestamps: false, window_scaling: false, ..Config::default() };
    let mut play: Option<Play> = None;
    for (index, line) in script.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let done = match line.strip_prefix("config ") {
            Some(settings) => settings.split_whitespace().try_for_each(|setting| configure(&mut config, setting)),
            None => play.get_or_insert_with(|| Play::new(config.clone())).step(line),
        };
        done.map_err(|why| format!("line {}: {line}\n  {why}", index + 1))?;
    }
    match play.and_then(|mut play| play.sent.pop_front()) {
        Some((at, transmit)) => Err(format!("nobody expected this: {}", shown(at, &transmit))),
        None => Ok(()),
    }
}

fn configure(config: &mut Config, setting: &str) -> Result<(), String> {
    let (name, value) = setting.split_once('=').unwrap_or((setting, "on"));
    let number = || value.parse::<usize>().map_err(|_| format!("{value} is no number"));
    match name {
        "reno" => config.algorithm = Algorithm::Reno,
        "cubic" => config.algorithm = Algorithm::Cubic,
        "sack" => config.sack = value == "on",
        "timestamps" => config.timestamps = value == "on",
        "scaling" => config.window_scaling = value == "on",
        "nodelay" => config.no_delay = value == "on",
        "mss" => config.mss = number()? as u16,
        "iw" => config.initial_window_segments = number()? as u32,
        "sndbuf" => config.send_buffer_bytes = number()?,
        "rcvbuf" => config.receive_buffer_bytes = number()?,
        "minrto" => config.min_rto = Duration::from_millis(number()? as u64),
        "giveup" => config.give_up = Duration::from_millis(number()? as u64),
        "rule" => {
            config.card = Card::FULL;
            config.rule = Rule::ALL.into_iter().find(|rule| rule.name() == value).ok_or("no such rule")?;
        }
        _ => return Err(format!("there is no setting {name}")),
    }
    Ok(())
}

struct Play {
    sender: Sender,
    now: Duration,
    /// What was sent and not yet expected.
    sent: VecDeque<(Duration, Transmit)>,
}

impl Play {
    fn new(config: Config) -> Play {
        Play { sender: Sender::new(config, 0), now: Duration::ZERO, sent: VecDeque::new() }
    }

    fn step(&mut self, line: &str) -> Result<(), String> {
        let (time, action) = line.split_once(char::is_whitespace).ok_or("an action is missing")?;
        let relative = time.strip_prefix('+');
        let seconds: f64 = relative.unwrap_or(time).parse().map_err(|_| "this is no time")?;
        let offset = Duration::from_secs_f64(seconds);
        self.advance(if relative.is_some() { self.now + offset } else { offset });
        self.act(action.trim())
    }

    /// Lets time pass, and timers end in it.
    fn advance(&mut self, to: Duration) {
        self.poll();
        while let Some(at) = self.sender.next_timeout().filter(|at| *at <= to) {
            self.now = self.now.max(at);
            self.sender.on_timeout(self.now);
            self.poll();
        }
        self.now = self.now.max(to);
    }

    fn poll(&mut self) {
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            self.sent.push_back((self.now, transmit));
            assert!(self.sent.len() < 10_000, "it does not stop to send");
        }
    }

    fn act(&mut self, action: &str) -> Result<(), String> {
        let (verb, rest) = action.split_once(char::is_whitespace).unwrap_or((action, ""));
        let number = || rest.trim().parse::<u64>().map_err(|_| format!("{rest} is no number"));
        match verb {
            "<" => {
                let given = Pattern::parse(rest)?;
                let data = vec![1; given.data_bytes()];
                self.sender.on_segment(&given.segment(), &data, self.now);
            }
            ">" => {
                self.poll();
                let Some((at, sent)) = self.sent.pop_front() else { return Err("nothing was sent".to_owned()) };
                let differs = Pattern::parse(rest)?.difference(&sent);
                if let Some(what) = differs.or_else(|| (at.abs_diff(self.now) > TOLERANCE).then(|| "time".to_owned())) {
                    return Err(format!("other {what}: {}", shown(at, &sent)));
                }
            }
            "write" => {
                let written = self.sender.write(&vec![7; number()? as usize]);
                return same(written as u64, number()?);
            }
            "room" => return same(self.sender.room() as u64, number()?),
            "read" => {
                let mut bytes = vec![0; number()? as usize];
                return same(self.sender.read(&mut bytes) as u64, number()?);
            }
            "close" => self.sender.close(),
            "abort" => self.sender.abort(),
            "cwnd" => return same(self.sender.congestion_window_bytes(), number()?),
            "ssthresh" => return same(self.sender.threshold_bytes(), number()?),
            "rto" => {
                return same(format!("{:.3}", self.sender.retransmission_timeout().as_secs_f64()), rest.to_owned());
            }
            "state" => return same(format!("{:?}", self.sender.state()), rest.to_owned()),
            "failure" => {
                let failure = self.sender.failure().map_or("none".to_owned(), |failure| format!("{failure:?}"));
                return same(failure.split('(').next().unwrap_or_default().to_owned(), rest.to_owned());
            }
            "quiet" => {
                self.poll();
                if let Some((at, sent)) = self.sent.pop_front() {
                    return Err(format!("something was sent: {}", shown(at, &sent)));
                }
            }
            _ => return Err(format!("there is no action {verb}")),
        }
        self.poll();
        Ok(())
    }
}

fn same<T: PartialEq + std::fmt::Display>(found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("it is {found}")) }
}

fn shown(at: Duration, transmit: &Transmit) -> String {
    let segment = &transmit.segment;
    let letters =
        [(segment.flags.syn, 'S'), (segment.flags.fin, 'F'), (segment.flags.rst, 'R'), (segment.flags.psh, 'P')];
    let flags: String = letters.into_iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect();
    let from = segment.sequence;
    format!(
        "{:.4} > {flags}{} {from}:{} ack {} win {} {:?}",
        at.as_secs_f64(),
        if segment.flags.ack { "." } else { "" },
        from.wrapping_add(transmit.bytes as u32),
        segment.acknowledgment,
        segment.window,
        segment.options,
    )
}

/// A segment as a line has it; what is left out is `None`.
#[derive(Default)]
struct Pattern {
    flags: Flags,
    from: u32,
    to: Option<u32>,
    ack: Option<u32>,
    window: Option<u16>,
    options: Option<SegmentOptions>,
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, String> {
        let (head, options) = match text.split_once('<') {
            Some((head, options)) => (head, Some(parse_options(options.trim_end_matches('>'))?)),
            None => (text, None),
        };
        let mut words = head.split_whitespace();
        let mut pattern = Pattern { options, ..Pattern::default() };
        for letter in words.next().ok_or("flags are missing")?.chars() {
            match letter {
                'S' => pattern.flags.syn = true,
                'F' => pattern.flags.fin = true,
                'R' => pattern.flags.rst = true,
                'P' => pattern.flags.psh = true,
                '.' => pattern.flags.ack = true,
                _ => return Err(format!("there is no flag {letter}")),
            }
        }
        let range = words.next().ok_or("numbers are missing")?;
        let (from, to) = range.split_once(':').map_or((range, None), |(from, to)| (from, Some(to)));
        pattern.from = number(from)?;
        pattern.to = to.map(number).transpose()?;
        while let Some(word) = words.next() {
            let value = number(words.next().ok_or("a number is missing")?)?;
            match word {
                "ack" => pattern.ack = Some(value),
                "win" => pattern.window = Some(value as u16),
                _ => return Err(format!("there is no field {word}")),
            }
        }
        Ok(pattern)
    }

    fn data_bytes(&self) -> usize {
        self.to.map_or(0, |to| to.wrapping_sub(self.from) as usize)
    }

    fn segment(&self) -> Segment {
        Segment {
            sequence: self.from,
            acknowledgment: self.ack.unwrap_or(0),
            flags: self.flags,
            window: self.window.unwrap_or(u16::MAX),
            options: self.options.unwrap_or_default(),
        }
    }

    /// What is not as the line says.
    fn difference(&self, sent: &Transmit) -> Option<String> {
        let segment = &sent.segment;
        let end = segment.sequence.wrapping_add(sent.bytes as u32);
        let ack = segment.flags.ack.then_some(segment.acknowledgment);
        // PSH is compared where the line has it.
        let flags = Flags { psh: segment.flags.psh && self.flags.psh, ..segment.flags };
        let differences = [
            ("flags", flags != self.flags),
            ("numbers", segment.sequence != self.from || end != self.to.unwrap_or(self.from)),
            ("acknowledgment", self.ack.is_some() && ack != self.ack),
            ("window", self.window.is_some_and(|window| window != segment.window)),
            ("options", self.options.is_some_and(|options| options != segment.options)),
        ];
        differences.into_iter().find(|(_, differs)| *differs).map(|(what, _)| what.to_owned())
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

/// `mss 1460,sackOK,ws 7,ts 1/2,sack 10:20 30:40`
fn parse_options(text: &str) -> Result<SegmentOptions, String> {
    let mut options = SegmentOptions::default();
    for option in text.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once(' ').unwrap_or((option, ""));
        match name {
            "mss" => options.mss = Some(number(value)? as u16),
            "ws" => options.window_scale = Some(number(value)? as u8),
            "sackOK" => options.sack_permitted = true,
            "ts" => {
                let (clock, echo) = value.split_once('/').ok_or("a timestamp has two parts")?;
                options.timestamp = Some((number(clock)?, number(echo)?));
            }
            "sack" => {
                for (place, block) in options.sack.iter_mut().zip(value.split_whitespace()) {
                    let (from, to) = block.split_once(':').ok_or("a block has two ends")?;
                    *place = Some((number(from)?, number(to)?));
                }
            }
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(options)
}
