//! Several agents in step, against a server in this process.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use std::{slice, thread};

use client::Options;
use lab::agents::{Agent, Conductor, Error, Interruption, Token};
use lab::bench::{End, Existing, Job, Stop};
use measure::record::Direction;

use crate::bench::Export;

const VERSION: &str = "1.2.3";
const FILE_BYTES: u64 = 1 << 20;
const BLOCK_BYTES: u32 = 4096;
const OPERATIONS: u64 = 2 * FILE_BYTES / BLOCK_BYTES as u64;

fn token() -> Token {
    Token::new("sixteen or more characters").unwrap()
}

/// A small load of a URL, which is done in a moment.
fn load(url: &str) -> Job {
    Job {
        options: Options { use_privileged_port: false, ..Options::default() },
        workload: "randread".parse().unwrap(),
        block_bytes: BLOCK_BYTES,
        file_bytes: FILE_BYTES,
        depth: 8,
        existing: Existing::Keep,
        end: End::Bytes(2 * FILE_BYTES),
        ..Job::new(url.parse().unwrap())
    }
}

fn make_job(command_line: &[String], _number: usize) -> Result<Job, String> {
    Ok(load(&command_line[0]))
}

/// Starts an agent, and gives its address.
fn start_agent(make_job: fn(&[String], usize) -> Result<Job, String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let agent = Agent { token: token(), version: VERSION.to_owned(), make_job, interruption: Interruption::default() };
    thread::spawn(move || agent.serve(&listener, |_| ()));
    address
}

/// Starts what looks like an agent: it accepts a conductor, and then gives `answer` each order until that is nothing.
fn start_false_agent(answer: fn(&str) -> Option<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        receive(&stream);
        send(&stream, "\"Accepted\"");
        while let Some(answer) = answer(&receive(&stream)) {
            send(&stream, &answer);
        }
    });
    address
}

fn receive(mut stream: &TcpStream) -> String {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut message).unwrap();
    String::from_utf8(message).unwrap()
}

fn send(mut stream: &TcpStream, message: &str) {
    // The conductor may be gone already.
    let _ = stream.write_all(&[&(message.len() as u32).to_be_bytes(), message.as_bytes()].concat());
}

const TIME: &str = r#"{"Time":{"secs":1,"nanos":0}}"#;

#[test]
fn agents_load_in_step_and_what_they_found_is_merged() {
    let export = Export::start();
    let agents = [start_agent(make_job), start_agent(make_job)];
    let mut conductor = Conductor::connect(&agents, &token(), VERSION, Stop::default()).unwrap();
    // A new file, which the first agent makes and fills; then a file for each in a directory; all over one connection.
    for place in ["/new", ""] {
        let url = export.url(place).to_string();
        let found = conductor.run(slice::from_ref(&url), 0, &load(&url)).unwrap();
        assert_eq!(found.hosts.iter().map(|host| host.agent.as_str()).collect::<Vec<_>>(), agents);
        for host in &found.hosts {
            assert_eq!(host.summary.total().operations, OPERATIONS);
            assert_eq!(host.first_error, None);
            assert!(host.uncertainty <= Duration::from_millis(10), "{:?}", host.uncertainty);
        }
        let [reads] = &found.all.directions[..] else { panic!("{:?}", found.all.directions) };
        assert_eq!((reads.direction, reads.work.operations, reads.errors), (Direction::Read, 2 * OPERATIONS, 0));
        assert_eq!(reads.latency_ns.count(), 2 * OPERATIONS);
        let longest = found.hosts.iter().map(|host| host.summary.directions[0].latency_ns.max()).max();
        assert_eq!(Some(reads.latency_ns.max()), longest);
        assert_eq!(found.all.connections, 2);
    }
}

#[test]
fn agent_refuses_another_token_and_another_version() {
    let agents = [start_agent(make_job)];
    let other = Token::new("another token, as long").unwrap();
    let refused = Conductor::connect(&agents, &other, VERSION, Stop::default()).err().unwrap();
    assert!(matches!(&refused, Error::WrongToken(agent) if *agent == agents[0]), "{refused}");
    let refused = Conductor::connect(&agents, &token(), "1.2.4", Stop::default()).err().unwrap().to_string();
    assert!(refused.contains(VERSION) && refused.contains("1.2.4"), "{refused}");
    assert!(Conductor::connect(&agents, &token(), VERSION, Stop::default()).is_ok());
}

#[test]
fn run_fails_when_an_agent_is_lost_and_the_others_can_be_used_again() {
    let export = Export::start();
    let answer = |order: &str| (order == "\"TellTime\"").then(|| TIME.to_owned());
    let agents = [start_agent(make_job), start_false_agent(answer)];
    let url = export.url("").to_string();
    let mut conductor = Conductor::connect(&agents, &token(), VERSION, Stop::default()).unwrap();
    let lost = conductor.run(slice::from_ref(&url), 0, &load(&url)).err().unwrap();
    assert!(matches!(&lost, Error::Lost { agent, .. } if *agent == agents[1]), "{lost}");
    drop(conductor);
    let mut conductor = Conductor::connect(&agents[..1], &token(), VERSION, Stop::default()).unwrap();
    let found = conductor.run(slice::from_ref(&url), 0, &load(&url)).unwrap();
    assert_eq!(found.all.total().operations, OPERATIONS);
}

#[test]
fn agent_says_why_it_cannot_do_a_job() {
    let agents = [start_agent(|_, _| Err("no such job".to_owned()))];
    let mut conductor = Conductor::connect(&agents, &token(), VERSION, Stop::default()).unwrap();
    let failed = conductor.run(&[], 0, &load("nfs://127.0.0.1/files")).err().unwrap();
    assert_eq!(failed.to_string(), format!("agent {}: no such job", agents[0]));
}

#[test]
fn agent_that_answers_too_slowly_to_start_in_step_is_refused() {
    let agents = [start_false_agent(|_| {
        thread::sleep(Duration::from_millis(25));
        Some(TIME.to_owned())
    })];
    let refused = Conductor::connect(&agents, &token(), VERSION, Stop::default()).err().unwrap();
    assert!(
        matches!(refused, Error::Clock { uncertainty, .. } if uncertainty > Duration::from_millis(10)),
        "{refused}"
    );
}

#[test]
fn figures_that_make_no_sense_are_refused() {
    let answers: [fn(&str) -> Option<String>; 3] = [
        |_| Some(r#"{"Found":{"late":1}}"#.to_owned()),
        |_| Some("\"Unknown\"".to_owned()),
        |_| Some("\"Ready\"".to_owned()),
    ];
    for answer in answers {
        let agents = [start_false_agent(answer)];
        let refused = Conductor::connect(&agents, &token(), VERSION, Stop::default()).err().unwrap();
        assert!(matches!(refused, Error::Lost { .. } | Error::Disorder(_)), "{refused}");
    }
}
