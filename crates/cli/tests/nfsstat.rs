//! What the program says of its own calls, and of those of other processes.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod support;

use std::process::Output;

use support::{Server, wharf, wharf_ok};

const FILE_BYTES: usize = 40_000;

/// A server of memory with one file in it.
fn server() -> (Server, String) {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let scratch = support::Scratch::new();
    let file = scratch.file("file", &"x".repeat(FILE_BYTES));
    let url = server.url("/mem/file");
    wharf_ok(&["cp", file.to_str().unwrap(), &url]);
    (server, url)
}

/// What a command that has to succeed says on standard error.
fn said(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// The number below a name in the tables.
fn number(tables: &str, name: &str) -> u64 {
    let lines: Vec<&str> = tables.lines().collect();
    for pair in lines.windows(2) {
        // A column has 13 characters, and names have spaces in them.
        let names = pair[0].as_bytes().chunks(13).map(|name| String::from_utf8_lossy(name).trim().to_owned());
        if let Some(place) = names.into_iter().position(|found| found == name) {
            return pair[1].split_whitespace().nth(place).unwrap().parse().unwrap();
        }
    }
    panic!("no {name} in {tables}")
}

#[test]
fn command_says_what_it_called_in_the_layout_of_nfsstat() {
    let (_server, url) = server();
    for version in ["2", "3", "4.0", "4.1", "4.2"] {
        let output = wharf(&["cat", "--nfsstat", "--rsize", "8K", "--version", version, &url]);
        let tables = said(&output);
        assert!(tables.starts_with("Client Info:\nRpc Counts:\n"), "{tables}");
        assert_eq!(output.stdout.len(), FILE_BYTES);
        // One READ for each 8 KiB at least; those under way past the end are made too.
        assert!(number(&tables, "Read") >= 5, "{version}: {tables}");
        assert!(number(&tables, "Lookup") >= 1, "{version}: {tables}");
        let counts = tables.split("Rpc Info").next().unwrap();
        let sum: u64 = counts
            .lines()
            .skip(2)
            .step_by(2)
            .zip(counts.lines().skip(3).step_by(2))
            .map(|(_, numbers)| numbers.split_whitespace().map(|number| number.parse::<u64>().unwrap()).sum::<u64>())
            .sum();
        let requests = number(&tables, "Requests");
        // What NFSv4 needs for clients and sessions is in no row of these.
        assert!(if version < "4" { sum == requests } else { sum < requests }, "{version}: {tables}");
    }
}

#[test]
fn command_says_all_rows_figures_of_procedures_or_json() {
    let (_server, url) = server();
    let all = said(&wharf(&["ls", "--nfsstat=all", "--version", "4.2", &url]));
    assert_eq!((number(&all, "ExchangeId"), number(&all, "CreateSess")), (1, 1));
    let operations = said(&wharf(&["ls", "--nfsstat=operations", "--version", "4.1", &url]));
    assert!(operations.contains("\nv4 LOOKUP ") && operations.contains("\nSEQUENCE "), "{operations}");
    let json: serde_json::Value = serde_json::from_str(&said(&wharf(&["ls", "--nfsstat=json", &url]))).unwrap();
    let procedures = json["procedures"].as_array().unwrap();
    let lookup = procedures.iter().find(|procedure| procedure["name"] == "LOOKUP").unwrap();
    assert_eq!((&lookup["calls"], &lookup["wire"]["count"]), (&1.into(), &1.into()));
    assert!(lookup["wire"]["buckets"][0]["from_ns"].is_u64());
}
