//! `wharf bench` on files that it did not make.

use std::fs;

use testing::Scratch;
use testing::program::{Server, wharf_fails, wharf_ok};

#[test]
fn benchmark_reads_an_existing_file_and_changes_it_only_when_told_to() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    let thesis = export.join("thesis.txt");
    fs::write(&thesis, "my words\n".repeat(10_000)).unwrap();
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let url = server.url(&thesis);
    let bench = ["bench", "--runtime", "50ms", "--bs", "4k", &url];
    let text = wharf_ok(&bench);
    assert!(text.contains("read: IOPS="), "{text}");
    for rw in ["write", "randrw", "mix"] {
        let refused = wharf_fails(1, &[&bench[..], &["--rw", rw]].concat());
        assert!(refused.contains(&url) && refused.contains("--overwrite"), "{refused}");
    }
    let short = wharf_fails(1, &[&bench[..], &["--size", "1M"]].concat());
    assert!(short.contains("has 90000 bytes") && short.contains("--size"), "{short}");
    assert_eq!(fs::read_to_string(&thesis).unwrap(), "my words\n".repeat(10_000));
    // Later workloads may write to a file that the first one made.
    let new = server.url(export.join("new"));
    wharf_ok(&["bench", "--runtime", "20ms", "--bs", "4k", "--size", "64k", "--rw", "read,write", &new]);
    wharf_ok(&[&bench[..], &["--rw", "write", "--size", "64k", "--overwrite"]].concat());
    assert_ne!(fs::read(&thesis).unwrap()[..9], *b"my words\n");
}

#[test]
fn numbers_that_make_no_benchmark_end_with_2() {
    let url = "nfs://127.0.0.1:1/x";
    for (flag, value) in [
        ("--iodepth", "0"),
        ("--connections", "0"),
        ("--runtime", "0s"),
        ("--files", "0"),
        ("--timeout", "0s"),
        ("--rsize", "0"),
        ("--wsize", "0"),
    ] {
        let said = wharf_fails(2, &["bench", flag, value, url]);
        assert!(said.contains(flag), "{said}");
    }
    let said = wharf_fails(2, &["bench", "--bs", "4k", "--size", "8", url]);
    assert!(said.contains("--size") && said.contains("--bs"), "{said}");
}

#[test]
fn curve_measures_the_maximum_and_rates_up_to_it() {
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let url = server.url("/mem");
    let bench = ["bench", "--rw", "randrw", "--size", "1M", "--runtime", "100ms", "--curve", "4", &url];
    let text = wharf_ok(&bench);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("randrw ") && line.contains(" % ")).collect();
    let names: Vec<&str> = rows.iter().filter_map(|row| row.split("  ").next()).collect();
    assert_eq!(names, ["randrw 25 %", "randrw 50 %", "randrw 75 %", "randrw 100 %"], "{text}");
    let refused = wharf_fails(2, &[&bench[..], &["--rate", "100"]].concat());
    assert!(refused.contains("--curve") && refused.contains("--rate"), "{refused}");
}
