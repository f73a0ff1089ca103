//! The file of an experiment of a user's own.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use client::Url;
use measure::record::{Better, FigureKind};
use serde::Deserialize;

use super::client::{Client, ClientWay};
use crate::contender::{Contender, Named};
use crate::experiments::contenders::WHARF;
use crate::mounted::Mounter;

/// Why a file is no experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is no TOML, has an unknown key, or lacks one.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What the parser says.
        problem: String,
    },
    /// A key has a value that it cannot have.
    #[error("{}: {key}: {problem}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key, such as `factor.block.levels`.
        key: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

impl FileError {
    fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> FileError {
        let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or_default();
        let (line, in_line) = (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap_or_default());
        let problem = error.message().trim_end().replace('\n', "; ");
        FileError::Syntax { path: path.to_owned(), line, column: in_line.chars().count() + 1, problem }
    }
}

/// The variables that a command finds beside those of its factors.
pub(super) const VARIABLES: [&str; 10] =
    ["URL", "FILE", "HOST", "PORT", "MOUNT_PORT", "EXPORT", "SERVER_PID", "SEED", "WHARF", "PATH"];

/// What the file says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Custom {
    pub(super) question: String,
    /// The factor whose levels run side by side.
    #[serde(default = "server_factor")]
    pub(super) contenders: String,
    /// How large the file is that is made to be read and written, `data` in the export.
    #[serde(default = "default_mib")]
    pub(super) file_mib: u32,
    /// About how long a pass takes.
    #[serde(default = "default_seconds")]
    pub(super) pass_seconds: f64,
    /// What does a pass, for the shell; its words `name=number` are figures.
    pub(super) command: Option<String>,
    /// Or the options of `wharf bench`, for the shell too.
    pub(super) bench: Option<String>,
    #[serde(default, rename = "server")]
    servers: Vec<ServerTable>,
    #[serde(default, rename = "client")]
    clients: Vec<ClientTable>,
    #[serde(default, rename = "factor")]
    pub(super) factors: Vec<FactorTable>,
    #[serde(default, rename = "figure")]
    figures: Vec<FigureTable>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerTable {
    name: String,
    /// Arguments of `wharf serve`.
    wharf: Option<Vec<String>>,
    url: Option<String>,
    command: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientTable {
    name: String,
    /// Who mounts the export for each pass.
    mount: Option<MounterName>,
    /// Options of the mount.
    options: Option<String>,
    /// The agents that load.
    agents: Option<Vec<String>>,
    /// A file beside this one, with the token of the agents.
    agent_token: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MounterName {
    Kernel,
    Wharf,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FactorTable {
    pub(super) name: String,
    pub(super) levels: Vec<LevelValue>,
}

/// A level: a value that is its own name, or both.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum LevelValue {
    Text(String),
    Number(i64),
    Named { name: String, value: String },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureTable {
    name: String,
    #[serde(default)]
    unit: String,
    better: Better,
}

/// The factor that every experiment has.
pub(super) const SERVER: &str = "server";
/// The factor of those with clients.
pub(super) const CLIENT: &str = "client";

fn server_factor() -> String {
    SERVER.to_owned()
}

fn default_mib() -> u32 {
    64
}

fn default_seconds() -> f64 {
    2.0
}

impl LevelValue {
    pub(super) fn name(&self) -> String {
        match self {
            LevelValue::Text(text) => text.clone(),
            LevelValue::Number(number) => number.to_string(),
            LevelValue::Named { name, .. } => name.clone(),
        }
    }

    pub(super) fn value(&self) -> String {
        match self {
            LevelValue::Named { value, .. } => value.clone(),
            own => own.name(),
        }
    }
}

impl Custom {
    /// Reads and checks a file.
    pub(super) fn read(path: &Path) -> Result<Custom, FileError> {
        let text = fs::read_to_string(path).map_err(|source| FileError::Read { path: path.to_owned(), source })?;
        let parsed: Result<Custom, _> = toml::from_str(&text);
        let custom = parsed.map_err(|error| FileError::syntax(path, &text, &error))?;
        let value = |(key, problem)| FileError::Value { path: path.to_owned(), key, problem };
        custom.check().map_err(value)?;
        Ok(Custom { clients: custom.clients.into_iter().map(|client| client.beside(path)).collect(), ..custom })
    }

    fn check(&self) -> Result<(), (String, String)> {
        let wrong = |key: &str, problem: &str| Err((key.to_owned(), problem.to_owned()));
        match (&self.command, &self.bench) {
            (None, None) => return wrong("command", "it is missing; command or bench says what a pass does"),
            (Some(_), Some(_)) => return wrong("bench", "there is a command already; only one of them does a pass"),
            (Some(_), None) if self.figures.is_empty() => {
                return wrong(
                    "figure",
                    "there is none; a [[figure]] has the name of a word name=number that the command prints",
                );
            }
            (None, Some(_)) if !self.figures.is_empty() => {
                return wrong("figure", "the figures of bench are known; leave it out, or use a command");
            }
            _ => {}
        }
        if !(self.pass_seconds.is_finite() && self.pass_seconds > 0.0) {
            return wrong("pass_seconds", "a number of seconds above 0 is wanted");
        }
        distinct("figure", self.figures.iter().map(|figure| figure.name.clone()))?;
        distinct("server", self.servers.iter().map(|server| server.name.clone()))?;
        distinct("factor", self.factors.iter().map(|factor| factor.name.clone()))?;
        self.factors.iter().try_for_each(FactorTable::check)?;
        self.servers.iter().try_for_each(|server| server.contender().map(drop))?;
        distinct(CLIENT, self.clients.iter().map(|client| client.name.clone()))?;
        self.clients.iter().try_for_each(|client| client.check(self.bench.is_some()))?;
        let has_clients = self.contenders == CLIENT && !self.clients.is_empty();
        match self.contenders == SERVER
            || has_clients
            || self.factors.iter().any(|factor| factor.name == self.contenders)
        {
            true => Ok(()),
            false => wrong("contenders", &format!("'{}' is no factor of this file, nor '{SERVER}'", self.contenders)),
        }
    }

    /// The clients; none where the file names none, and Wharf's library loads.
    pub(super) fn clients(&self) -> Vec<Client> {
        self.clients.iter().map(ClientTable::client).collect()
    }

    /// The servers, or Wharf where the file names none.
    pub(super) fn servers(&self) -> Vec<Named> {
        let named =
            |server: &ServerTable| Some(Named { name: server.name.clone(), contender: server.contender().ok()? });
        match self.servers.is_empty() {
            true => vec![Named { name: WHARF.to_owned(), contender: Contender::Wharf(Vec::new()) }],
            false => self.servers.iter().filter_map(named).collect(),
        }
    }

    /// The figures of a command.
    pub(super) fn figures(&self) -> Vec<FigureKind> {
        let kind = |figure: &FigureTable| FigureKind {
            name: figure.name.clone(),
            unit: figure.unit.clone(),
            better: figure.better,
        };
        self.figures.iter().map(kind).collect()
    }
}

fn distinct(key: &str, names: impl Iterator<Item = String>) -> Result<(), (String, String)> {
    let mut seen = HashSet::new();
    for name in names {
        if name.is_empty() {
            return Err((format!("{key}.name"), "it is empty".to_owned()));
        }
        if !seen.insert(name.clone()) {
            return Err((format!("{key}.{name}"), "it is there twice; each needs a name of its own".to_owned()));
        }
    }
    Ok(())
}

impl FactorTable {
    fn check(&self) -> Result<(), (String, String)> {
        let key = format!("factor.{}", self.name);
        let is_word = self.name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if !is_word || self.name.starts_with(|letter: char| letter.is_ascii_digit()) {
            let problem = "the command finds its level in a variable of this name: use letters, digits and _";
            return Err((key, problem.to_owned()));
        }
        if [SERVER, CLIENT].contains(&self.name.as_str()) || VARIABLES.contains(&self.name.as_str()) {
            return Err((key, "this name has a meaning already; take another one".to_owned()));
        }
        if self.levels.is_empty() {
            return Err((format!("{key}.levels"), "there is none".to_owned()));
        }
        distinct(&format!("{key}.levels"), self.levels.iter().map(LevelValue::name))
    }
}

impl ServerTable {
    fn contender(&self) -> Result<Contender, (String, String)> {
        let wrong = |problem: String| Err((format!("server.{}", self.name), problem));
        match (&self.wharf, &self.url, &self.command) {
            (Some(arguments), None, None) => Ok(Contender::Wharf(arguments.clone())),
            (None, Some(url), None) => match url.parse::<Url>() {
                Ok(url) => Ok(Contender::Running(url)),
                Err(error) => wrong(format!("url: {error}")),
            },
            (None, None, Some(command)) if command == "ganesha" => Ok(Contender::Ganesha),
            (None, None, Some(command)) => Ok(Contender::Command(command.clone())),
            _ => wrong("one of wharf = [arguments], url = \"nfs://…\" and command = \"…\" is wanted".to_owned()),
        }
    }
}

impl ClientTable {
    fn check(&self, is_bench: bool) -> Result<(), (String, String)> {
        let wrong = |problem: &str| Err((format!("client.{}", self.name), problem.to_owned()));
        match (self.mount, &self.agents) {
            (Some(_), Some(_)) => return wrong("it has a mount and agents; only one of them loads"),
            (None, _) if self.options.is_some() => return wrong("options are those of a mount: add mount"),
            (_, Some(agents)) if agents.is_empty() => return wrong("agents: there is none"),
            (_, Some(_)) if !is_bench => return wrong("agents do the load of bench, not of a command"),
            (_, agents) if agents.is_some() != self.agent_token.is_some() => {
                return wrong("agents and agent_token (the file of their token) belong together");
            }
            _ => {}
        }
        match self.mount.and_then(|mounter| mounter.mounter().missing()) {
            Some(why) => wrong(&why),
            None => Ok(()),
        }
    }

    /// The same with the path of the token's file from where this program runs.
    fn beside(self, path: &Path) -> ClientTable {
        let folder = path.parent().unwrap_or(Path::new(""));
        ClientTable { agent_token: self.agent_token.map(|token| folder.join(token)), ..self }
    }

    fn client(&self) -> Client {
        let way = match (self.mount, &self.agents) {
            (Some(mounter), _) => {
                ClientWay::Mount { mounter: mounter.mounter(), options: self.options.clone().unwrap_or_default() }
            }
            (None, Some(agents)) => {
                ClientWay::Agents { agents: agents.clone(), token: self.agent_token.clone().unwrap_or_default() }
            }
            (None, None) => ClientWay::Library,
        };
        Client { name: self.name.clone(), way }
    }
}

impl MounterName {
    fn mounter(self) -> Mounter {
        match self {
            MounterName::Kernel => Mounter::Kernel,
            MounterName::Wharf => Mounter::Wharf,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "question = 'x'\n";

    fn refused(rest: &str) -> String {
        let custom: Custom = toml::from_str(&format!("{HEAD}{rest}")).unwrap();
        let (key, problem) = custom.check().unwrap_err();
        format!("{key}: {problem}")
    }

    #[test]
    fn mistake_is_told_with_its_key() {
        let figure = "[[figure]]\nname = 'f'\nbetter = 'higher'\n";
        for (rest, expected) in [
            ("", "command: it is missing"),
            ("command = 'x'\nbench = 'y'", "bench: there is a command already"),
            ("command = 'x'", "figure: there is none"),
            (&format!("bench = 'x'\n{figure}"), "figure: the figures of bench are known"),
            (&format!("command = 'x'\n{figure}{figure}"), "figure.f: it is there twice"),
            ("bench = ''\ncontenders = 'z'", "contenders: 'z' is no factor"),
            ("bench = ''\npass_seconds = 0.0", "pass_seconds: a number"),
            ("bench = ''\n[[factor]]\nname = 'a b'\nlevels = ['1']", "factor.a b: the command finds"),
            ("bench = ''\n[[factor]]\nname = 'URL'\nlevels = ['1']", "factor.URL: this name has a meaning"),
            ("bench = ''\n[[factor]]\nname = 'a'\nlevels = []", "factor.a.levels: there is none"),
            ("bench = ''\n[[factor]]\nname = 'a'\nlevels = [1, '1']", "factor.a.levels.1: it is there twice"),
            ("bench = ''\ncontenders = 'client'", "contenders: 'client' is no factor"),
            ("bench = ''\n[[client]]\nname = 'c'\noptions = 'ro'", "client.c: options are those of a mount"),
            ("bench = ''\n[[client]]\nname = 'c'\nagents = ['a:1']", "client.c: agents and agent_token"),
            ("bench = ''\n[[client]]\nname = 'c'\nagent_token = 't'", "client.c: agents and agent_token"),
            ("bench = ''\n[[client]]\nname = 'c'\nagents = []\nagent_token = 't'", "client.c: agents: there is none"),
            (
                "bench = ''\n[[client]]\nname = 'c'\nagents = ['a:1']\nagent_token = 't'\nmount = 'kernel'",
                "client.c: it has a mount and agents",
            ),
            (
                &format!("command = ''\n{figure}[[client]]\nname = 'c'\nagents = ['a:1']\nagent_token = 't'"),
                "client.c: agents do the load of bench",
            ),
            ("bench = ''\n[[server]]\nname = 's'", "server.s: one of wharf"),
            ("bench = ''\n[[server]]\nname = 's'\nurl = 'nfs://'", "server.s: url: "),
        ] {
            let found = refused(rest);
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn client_that_cannot_mount_here_is_refused_with_the_reason() {
        for (name, mounter) in [("kernel", Mounter::Kernel), ("wharf", Mounter::Wharf)] {
            let client = format!("{HEAD}bench = ''\n[[client]]\nname = 'c'\nmount = '{name}'");
            let found = toml::from_str::<Custom>(&client).unwrap().check();
            assert_eq!(found, mounter.missing().map_or(Ok(()), |why| Err(("client.c".to_owned(), why))));
        }
    }

    #[test]
    fn file_with_an_unknown_key_names_it_with_its_line() {
        let path = std::env::temp_dir().join(format!("wharf-lab-file-{}.toml", std::process::id()));
        fs::write(&path, format!("{HEAD}bench = ''\nbanch = ''\n")).unwrap();
        let error = Custom::read(&path).unwrap_err().to_string();
        fs::remove_file(&path).unwrap();
        assert!(error.contains(".toml:3:1: unknown field `banch`") && !error.contains('\n'), "{error}");
    }
}
