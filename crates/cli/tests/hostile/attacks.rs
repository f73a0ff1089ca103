//! Attacks on the server's memory, its connections and other clients' time. A next one is a function and a line of the
//! table.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::frame::{Attack, Target, run};
use testing::program::wire::{
    LAST_FRAGMENT, LOCK, LOOKUP, OPEN, OPEN_CONFIRM, PUTFH, PUTROOTFH, READ, READ4, SETCLIENTID, SETCLIENTID_CONFIRM,
    call, compound, opaque, read_arguments, record, reply, setclientid_arguments, words,
};
use testing::wait_until;

const MIB: u32 = 1 << 20;

/// Over how many connections nobody reads replies: so few that the kernel's buffers, of 4 MiB each, are full before
/// long.
const MANY: usize = 100;

/// The addresses of attackers: one client, and another one.
const ATTACKER: u8 = 2;
const SECOND: u8 = 3;

/// A client that comes late.
const LATE: u8 = 99;

/// How many callback paths a client names.
const CALLBACK_PATHS: usize = 200;

/// The witness's own address.
const WITNESS: u8 = 1;

/// Lets nobody in but the witness, so that attackers have no export.
const STRANGERS: &[&str] = &["--memory", "64M", "--client", "127.0.0.1"];
/// In peace the server has 24 MiB of data, and strangers may take an eighth of the memory for clients.
const STRANGERS_DATA_MIB: u64 = 64;

/// NFS4ERR_RESOURCE (RFC 7530 §13.1.3.4).
const RESOURCE: u32 = 10018;

macro_rules! attacks {
    ($($name:ident: $attack:expr;)*) => {
        $(#[test]
        fn $name() {
            run(&$attack);
        })*
    };
}

attacks! {
    unfinished_records_of_a_client: Attack::new(unfinished_records);
    unfinished_records_of_strangers: Attack {
        options: STRANGERS,
        data_mib: STRANGERS_DATA_MIB,
        ..Attack::new(unfinished_records)
    };
    small_unfinished_records_of_strangers: Attack {
        options: STRANGERS,
        data_mib: STRANGERS_DATA_MIB,
        ..Attack::new(small_unfinished_records)
    };
    replies_that_nobody_reads: Attack::new(unread_replies);
    replies_that_nobody_reads_at_the_witness_address: Attack::new(unread_replies_beside);
    compounds_of_many_reads: Attack::new(compounds);
    unfinished_records_and_unread_replies_in_900_mib_of_address_space: Attack {
        options: &[],
        address_space_mib: Some(900),
        data_mib: 430,
        ..Attack::new(everything)
    };
    more_connections_than_there_may_be: Attack {
        options: &["--max-connections", "400"],
        ..Attack::new(connections)
    };
    connections_of_strangers_from_many_addresses: Attack {
        options: &["--max-connections", "100", "--client", "127.0.0.1"],
        ..Attack::new(strangers_connections)
    };
    connections_of_clients_that_fill_the_server: Attack {
        options: &["--max-connections", "400"],
        ..Attack::new(clients_connections)
    };
    opens_of_very_many_owners_in_900_mib_of_address_space: Attack {
        address_space_mib: Some(900),
        ..Attack::new(opens_of_many_owners)
    };
    locks_of_very_many_files: Attack { descriptors: Some(1000), ..Attack::new(locks_of_many_files) };
    callback_paths_of_a_client: Attack::new(callback_paths);
    noise_over_many_connections: Attack::new(noise);
}

/// All but the last bytes of a record of 1 MiB.
fn unfinished_record() -> Vec<u8> {
    [&words(&[LAST_FRAGMENT | MIB])[..], &vec![0; MIB as usize - 100]].concat()
}

fn unfinished_records(target: &Target<'_>) -> Vec<TcpStream> {
    target.send_over(1000, ATTACKER, &unfinished_record())
}

fn small_unfinished_records(target: &Target<'_>) -> Vec<TcpStream> {
    let announced = words(&[LAST_FRAGMENT | 60_000]);
    target.send_over(1000, ATTACKER, &[announced, vec![0; 59_000]].concat())
}

fn many_reads(target: &Target<'_>) -> Vec<u8> {
    record(&call(1, READ, &read_arguments(target.file, MIB))).repeat(16)
}

fn unread_replies(target: &Target<'_>) -> Vec<TcpStream> {
    sip(target.send_over(MANY, ATTACKER, &many_reads(target)))
}

fn unread_replies_beside(target: &Target<'_>) -> Vec<TcpStream> {
    sip(target.send_over(MANY, WITNESS, &many_reads(target)))
}

/// Reads a little of what came over each connection, so that the kernel lets the server fill its buffers before long.
fn sip(mut streams: Vec<TcpStream>) -> Vec<TcpStream> {
    for _ in 0..10 {
        for stream in &mut streams {
            // Nothing may have come yet.
            let _ = stream.read(&mut [0; 64 << 10]);
        }
        thread::sleep(Duration::from_millis(50));
    }
    streams
}

/// 127 READs of 1 MiB behind a PUTFH, in a call of 4 KiB.
fn compounds(target: &Target<'_>) -> Vec<TcpStream> {
    let read = words(&[READ4, 0, 0, 0, 0, 0, 0, MIB]);
    let operations = [words(&[PUTFH]), opaque(target.file), read.repeat(127)].concat();
    sip(target.send_over(MANY, ATTACKER, &record(&compound(1, 128, &operations)).repeat(4)))
}

fn everything(target: &Target<'_>) -> Vec<TcpStream> {
    let mut held = target.send_over(300, ATTACKER, &unfinished_record());
    held.extend(sip(target.send_over(MANY, SECOND, &many_reads(target))));
    held
}

fn connections(target: &Target<'_>) -> Vec<TcpStream> {
    let held = (0..600).filter_map(|_| target.connect(ATTACKER)).collect();
    target.server.wait_for_log("connection refused");
    held
}

fn strangers_connections(target: &Target<'_>) -> Vec<TcpStream> {
    let mut held: Vec<TcpStream> =
        (10..15).flat_map(|last| (0..20).filter_map(move |_| target.connect(last))).collect();
    thread::sleep(Duration::from_millis(700));
    // Whoever has an export gets in: silent connections of strangers make room.
    let mut late = target.connect(WITNESS).unwrap();
    late.set_nonblocking(false).unwrap();
    late.write_all(&record(&call(1, READ, &read_arguments(target.file, 1)))).unwrap();
    late.read_exact(&mut [0; 4]).expect("a client with an export is served");
    held.push(late);
    held
}

/// Four clients with exports have all connections. Whoever has none gets in: silent ones of those that have most make
/// room.
fn clients_connections(target: &Target<'_>) -> Vec<TcpStream> {
    let attackers = ATTACKER..ATTACKER + 4;
    let mut held: Vec<TcpStream> =
        attackers.flat_map(|last| (0..100).filter_map(move |_| target.connect(last))).collect();
    target.server.wait_for_log("connection refused");
    thread::sleep(Duration::from_millis(700));
    // The room is made by other event loops too, which takes a moment: a client without connections is served.
    wait_until("a client is served", || serves_a_read(target, LATE).map(|stream| held.push(stream)).is_some());
    held
}

/// A new connection, if it is served.
fn serves_a_read(target: &Target<'_>, last: u8) -> Option<TcpStream> {
    let mut stream = target.connect(last)?;
    stream.set_nonblocking(false).ok()?;
    stream.write_all(&record(&call(1, READ, &read_arguments(target.file, 1)))).ok()?;
    reply(&mut stream).ok()?;
    Some(stream)
}

/// The client ID of a client of NFSv4.0 that was not known, confirmed.
fn new_client(stream: &mut TcpStream, name: &str, callback: &str) -> Vec<u8> {
    let client = setclientid_arguments(name, callback);
    stream.write_all(&record(&compound(1, 1, &[words(&[SETCLIENTID]), client].concat()))).unwrap();
    let (_, results) = reply(stream).unwrap();
    // Behind the heads of the reply, of the COMPOUND and of the result: the client ID and what confirms it (RFC
    // 7530 §16.33.3).
    let confirm = [words(&[SETCLIENTID_CONFIRM]), results[40..56].to_vec()].concat();
    stream.write_all(&record(&compound(2, 1, &confirm))).unwrap();
    reply(stream).unwrap();
    results[40..48].to_vec()
}

/// An owner with a name of 1000 bytes after the other opens the file, for as long as the server lets them.
fn opens_of_many_owners(target: &Target<'_>) -> Vec<TcpStream> {
    const AT_ONCE: u32 = 64;
    const MOST: u32 = 400_000;
    let mut stream = target.connect(ATTACKER).unwrap();
    stream.set_nonblocking(false).unwrap();
    let client = new_client(&mut stream, "opens", "127.0.0.2.0.1");
    let (to_file, file) = ([words(&[PUTROOTFH, LOOKUP]), opaque(b"mem")].concat(), opaque(b"file"));
    let open = |number: u32| {
        // The sequence number, for reading, denying nothing; the owner; no creation, CLAIM_NULL and the name.
        let owner = [client.clone(), opaque(format!("{number:01000}").as_bytes())].concat();
        let arguments = [words(&[OPEN, 0, 1, 0]), owner, words(&[0, 0]), file.clone()].concat();
        record(&compound(number, 3, &[to_file.clone(), arguments].concat()))
    };
    for batch in 0..MOST / AT_ONCE {
        let calls: Vec<u8> = (0..AT_ONCE).flat_map(|number| open(batch * AT_ONCE + number)).collect();
        stream.write_all(&calls).unwrap();
        let replies = (0..AT_ONCE).map(|_| reply(&mut stream).expect("the server lives").1);
        let statuses: Vec<Vec<u8>> = replies.map(|results| results[20..24].to_vec()).collect();
        if let Some(refused) = statuses.iter().find(|status| **status != words(&[0])) {
            assert_eq!(*refused, words(&[RESOURCE]), "after {} opens", batch * AT_ONCE);
            println!("the server lets an address have {} opens", batch * AT_ONCE);
            return vec![stream];
        }
    }
    panic!("there is no end to what an address may open");
}

/// The operations that lead to a file of the directory's export, without its name, and how many they are.
fn to_directory(target: &Target<'_>) -> (Vec<u8>, u32) {
    let names: Vec<&str> = target.directory.split('/').filter(|name| !name.is_empty()).collect();
    let lookups = names.iter().flat_map(|name| [words(&[LOOKUP]), opaque(name.as_bytes())]);
    ([words(&[PUTROOTFH])].into_iter().chain(lookups).flatten().collect(), 1 + names.len() as u32)
}

/// Makes a file and locks it, as a client of NFSv4.0 with an owner of its own; gives the status of the LOCK.
fn lock_new_file(target: &Target<'_>, stream: &mut TcpStream, client: &[u8], name: &str) -> Vec<u8> {
    let (to_directory, count) = to_directory(target);
    let owner = [client.to_vec(), opaque(name.as_bytes())].concat();
    let mut ask = |operations: u32, bytes: &[Vec<u8>]| {
        let all = [to_directory.clone(), bytes.concat()].concat();
        stream.write_all(&record(&compound(1, count + operations, &all))).unwrap();
        reply(stream).expect("the server lives").1
    };
    // For reading and writing, denying nothing; created unchecked without attributes; CLAIM_NULL.
    let open = [words(&[OPEN, 0, 3, 0]), owner.clone(), words(&[1, 0, 0, 0, 0]), opaque(name.as_bytes())];
    let opened = ask(1, &open);
    // Behind the head of 32 bytes, those of the operations and OPEN's own, of 8 bytes each.
    let stateid_at = 32 + 8 * count as usize + 8;
    let stateid = opened.get(stateid_at..stateid_at + 16).expect("the file is open").to_vec();
    let to_file = [words(&[LOOKUP]), opaque(name.as_bytes())].concat();
    let confirmed = ask(2, &[to_file.clone(), words(&[OPEN_CONFIRM]), stateid, words(&[1])]);
    let stateid = confirmed[confirmed.len() - 16..].to_vec();
    // For writing, the first byte, by a new owner.
    let lock = [words(&[LOCK, 2, 0, 0, 0, 0, 1, 1, 2]), stateid, words(&[0]), owner];
    ask(2, &[to_file, lock.concat()])[20..24].to_vec()
}

/// One client locks a file after the other, each of which the server has to keep open, for as long as it lets it.
fn locks_of_many_files(target: &Target<'_>) -> Vec<TcpStream> {
    static ROUND: AtomicU32 = AtomicU32::new(0);
    const MOST: u32 = 1500;
    let round = ROUND.fetch_add(1, Ordering::Relaxed);
    let connect = |last: u8, name: &str| {
        let mut stream = target.connect(last).unwrap();
        stream.set_nonblocking(false).unwrap();
        let client = new_client(&mut stream, &format!("{name} {round}"), "127.0.0.2.0.1");
        (stream, client)
    };
    let (mut stream, client) = connect(ATTACKER, "locks");
    let mut lock = |number| lock_new_file(target, &mut stream, &client, &format!("{round}-{number}"));
    let refused =
        (0..MOST).find_map(|number| Some((number, lock(number))).filter(|(_, status)| *status != words(&[0])));
    let (count, status) = refused.expect("there is an end to the files that an address may lock");
    assert_eq!(status, words(&[RESOURCE]), "after {count} files");
    println!("the server lets an address lock {count} files");
    let (mut other, client) = connect(SECOND, "another");
    assert_eq!(lock_new_file(target, &mut other, &client, &format!("{round}-another")), words(&[0]));
    vec![stream, other]
}

/// A client of NFSv4.0 names a callback path after the other, each of which takes connections and never answers.
fn callback_paths(target: &Target<'_>) -> Vec<TcpStream> {
    let address = IpAddr::from([127, 0, 0, ATTACKER]);
    let listeners: Vec<TcpListener> = (0..CALLBACK_PATHS).map(|_| TcpListener::bind((address, 0)).unwrap()).collect();
    let mut stream = target.connect(ATTACKER).unwrap();
    stream.set_nonblocking(false).unwrap();
    for (number, listener) in (0..).zip(&listeners) {
        let port = listener.local_addr().unwrap().port();
        let callback = format!("{address}.{}.{}", port >> 8, port & 0xff);
        new_client(&mut stream, &format!("client {number}"), &callback);
    }
    listeners.iter().for_each(|listener| listener.set_nonblocking(true).unwrap());
    let mut held = Vec::new();
    let mut accept = || {
        held.extend(listeners.iter().filter_map(|listener| Some(listener.accept().ok()?.0)));
        !held.is_empty()
    };
    wait_until("the server has opened a connection", &mut accept);
    thread::sleep(Duration::from_secs(2));
    accept();
    println!("the server has opened {} connections to a client", held.len());
    assert!((1..=CALLBACK_PATHS / 3).contains(&held.len()), "{} connections", held.len());
    held.push(stream);
    held
}

/// Noise over 500 connections, of which the log says little.
fn noise(target: &Target<'_>) -> Vec<TcpStream> {
    for _ in 0..5 {
        target.send_over(100, ATTACKER, &[0xff; 100]);
    }
    let log = target.server.log();
    let lines = log.lines().filter(|line| line.contains("connection closed")).count();
    assert_eq!(lines, 1, "{log}");
    Vec::new()
}
