use std::path::PathBuf;

use super::loads::Load;
use super::marks;
use crate::{Failure, Outcome};

/// The word that tells the command that it runs in its own network already.
pub const INSIDE: &str = "--inside";

/// What the command line says.
pub struct Options {
    pub is_inside: bool,
    /// How often each server gets each load. Six is the least that gives an interval of 95 %.
    pub rounds: u32,
    /// What the order of loads and servers follows from.
    pub seed: u64,
    /// How long each load is measured, in seconds; a quarter of a second before that does not count.
    pub seconds: f64,
    /// How long a run waits for a quiet machine, in seconds; then it goes on and shows what others took.
    pub wait: u32,
    /// A load generator beside `wharf bench`, which speaks on the options of `nfsload`.
    pub nfsload: Option<PathBuf>,
    /// The program of this checkout is built already.
    pub is_built: bool,
    /// Leave `wharf bench` out.
    pub only_nfsload: bool,
    /// Leave out the loads that no mark is on.
    pub only_marks: bool,
    /// Parts of the names of the loads that are wanted; none means all.
    pub loads: Vec<String>,
    /// What kind of file system the export is.
    pub export: Export,
    /// Servers beside NFS-Ganesha.
    pub peers: Vec<Peer>,
    /// Where to write every sample, as JSON.
    pub samples: Option<PathBuf>,
}

/// The file system that the servers serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Export {
    Tmpfs,
    /// In an image on the disk of the checkout, by a loop device.
    Ext4,
}

/// A server that the command line tells how to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub name: String,
    pub port: u16,
    pub mount_port: u16,
    /// For the shell, which finds the export in `$EXPORT` and a folder for the server's own things in `$STATE`.
    pub command: String,
}

impl Export {
    pub fn name(self) -> &'static str {
        match self {
            Export::Tmpfs => "tmpfs",
            Export::Ext4 => "ext4",
        }
    }

    fn parse(text: &str) -> Outcome<Export> {
        let found = [Export::Tmpfs, Export::Ext4].into_iter().find(|export| export.name() == text);
        found.ok_or_else(|| Failure::Usage(format!("--export {text}: there are tmpfs and ext4")))
    }
}

impl Peer {
    /// A name, two ports and a command, with spaces between them.
    fn parse(text: &str) -> Outcome<Peer> {
        let mut words = text.splitn(4, ' ');
        let mut word = || words.next().filter(|word| !word.is_empty());
        let peer = (|| {
            Some(Peer {
                name: word()?.to_owned(),
                port: word()?.parse().ok()?,
                mount_port: word()?.parse().ok()?,
                command: word()?.to_owned(),
            })
        })();
        peer.ok_or_else(|| Failure::Usage(format!("--peer '{text}': NAME PORT MOUNT-PORT COMMAND are wanted")))
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            is_inside: false,
            rounds: 10,
            seed: 1,
            seconds: 2.0,
            wait: 10,
            nfsload: None,
            is_built: false,
            only_nfsload: false,
            only_marks: false,
            loads: Vec::new(),
            export: Export::Tmpfs,
            peers: Vec::new(),
            samples: None,
        }
    }
}

impl Options {
    pub fn parse(arguments: &[String]) -> Outcome<Options> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            if options.set_flag(name) {
                continue;
            }
            let value = rest.next().ok_or_else(|| Failure::Usage(format!("{name} needs a value")))?;
            options.set(name, value)?;
        }
        if options.only_nfsload && options.nfsload.is_none() {
            return Err(Failure::Usage("--only-nfsload needs --nfsload PROGRAM".to_owned()));
        }
        Ok(options)
    }

    /// Whether a load takes part.
    pub fn wants(&self, load: &Load) -> bool {
        let name = load.to_string();
        let is_named = self.loads.is_empty() || self.loads.iter().any(|text| name.contains(text));
        is_named && (!self.only_marks || marks::all().iter().any(|mark| mark.load == name))
    }

    fn set_flag(&mut self, name: &str) -> bool {
        match name {
            INSIDE => self.is_inside = true,
            "--no-build" => self.is_built = true,
            "--only-nfsload" => self.only_nfsload = true,
            "--marks" => self.only_marks = true,
            // Enough to see that everything works; a ratio needs six rounds.
            "--quick" => (self.rounds, self.seconds, self.wait) = (3, 0.3, 0),
            _ => return false,
        }
        true
    }

    fn set(&mut self, name: &str, value: &str) -> Outcome {
        match name {
            "--rounds" => self.rounds = positive(name, value)?,
            "--seed" => self.seed = value.parse().map_err(|_| not_a_number(name, value))?,
            "--seconds" => self.seconds = positive(name, value)?,
            "--wait" => self.wait = value.parse().map_err(|_| not_a_number(name, value))?,
            "--nfsload" => self.nfsload = Some(value.into()),
            "--load" => self.loads.push(value.to_owned()),
            "--export" => self.export = Export::parse(value)?,
            "--peer" => self.peers.push(Peer::parse(value)?),
            "--samples" => self.samples = Some(value.into()),
            _ => return Err(Failure::Usage(format!("{name} is no option of peers"))),
        }
        Ok(())
    }
}

fn positive<T: std::str::FromStr + Default + PartialOrd>(name: &str, value: &str) -> Outcome<T> {
    value.parse().ok().filter(|number| *number > T::default()).ok_or_else(|| not_a_number(name, value))
}

fn not_a_number(name: &str, value: &str) -> Failure {
    Failure::Usage(format!("{name} {value}: a number above 0 is wanted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Outcome<Options> {
        Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_come_in_any_order_and_wrong_ones_are_named() {
        let options = parse("--seconds 0.5 --inside --nfsload /x/nfsload --marks --rounds 9 --wait 0").unwrap();
        assert_eq!((options.rounds, options.wait, options.is_inside, options.only_marks), (9, 0, true, true));
        assert!((options.seconds - 0.5).abs() < f64::EPSILON);
        assert_eq!(options.nfsload, Some("/x/nfsload".into()));
        for (words, complaint) in [
            ("--rounds", "needs a value"),
            ("--rounds 0", "above 0"),
            ("--x 1", "--x is no"),
            ("--only-nfsload", "needs --nfsload"),
            ("--export xfs", "tmpfs and ext4"),
            ("--peer x", "COMMAND are wanted"),
        ] {
            let failure = parse(words).err().unwrap().to_string();
            assert!(failure.contains(complaint), "{failure}");
        }
    }

    #[test]
    fn peer_is_a_name_two_ports_and_a_command_of_any_length() {
        let words = ["--peer", "old 2050 2051 /x/wharf serve $EXPORT"].map(str::to_owned);
        let peer = Options::parse(&words).unwrap().peers.remove(0);
        assert_eq!((peer.name.as_str(), peer.port, peer.mount_port), ("old", 2050, 2051));
        assert_eq!(peer.command, "/x/wharf serve $EXPORT");
    }

    #[test]
    fn loads_are_wanted_by_any_part_of_their_names() {
        let names = |words: &str| -> Vec<String> {
            let options = parse(words).unwrap();
            super::super::loads::all().iter().filter(|load| options.wants(load)).map(ToString::to_string).collect()
        };
        assert_eq!(names("--load ACCESS --load LOOKUP").len(), 4);
        assert_eq!(
            names("--marks --load ACCESS --load 4.1"),
            ["NFSv3: ACCESS, 4×16", "NFSv4.1: READ 4 KiB random, 4×16"]
        );
        assert!(names("--load nothing").is_empty());
    }
}
