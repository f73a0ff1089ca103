//! `wharf bench --fio`: job files of fio.

use std::fs;

use serde_json::Value;

use testing::Scratch;
use testing::program::{Server, wharf_fails, wharf_ok};

#[test]
fn jobs_of_a_file_run_one_after_the_other_and_change_no_file_that_they_did_not_make() {
    let scratch = Scratch::new();
    let export = scratch.dir("export");
    fs::write(export.join("thesis"), "my words\n".repeat(1000)).unwrap();
    let server = Server::start(1, &["--no-root-squash", export.to_str().unwrap()]);
    let text = "\
[global]
ioengine=libaio
direct=1
size=256k
bs=4k
stonewall
[fill]
rw=write
fsync=16
filename=data
[clones] # each moves its size
rw=randread
random_distribution=zipf:1.2
iodepth=4
numjobs=2
[again]
rw=randrw
bssplit=4k/50:8k/50
filename=data
";
    let file = scratch.file("jobs.fio", text);
    let url = server.url(&export);
    let json = wharf_ok(&["bench", "--fio", file.to_str().unwrap(), "--json", &url]);
    let run: Value = serde_json::from_str(&json).unwrap();
    let jobs = run["jobs"].as_array().unwrap();
    let names: Vec<&str> = jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect();
    assert_eq!(names, ["fill", "clones", "again"]);
    // 64 writes with four COMMITs between, and two clones that read 64 blocks each.
    assert_eq!((&jobs[0]["write"]["total_ios"], &jobs[0]["sync"]["total_ios"]), (&64.into(), &4.into()));
    assert_eq!(jobs[1]["read"]["io_bytes"], 2 * 256 * 1024);
    let moved = ["read", "write"].map(|direction| jobs[2][direction]["io_bytes"].as_u64().unwrap());
    assert!((256 * 1024..=260 * 1024).contains(&(moved[0] + moved[1])), "{moved:?}");
    let mut left: Vec<_> = fs::read_dir(&export).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["data", "thesis"]);
    // A file that an earlier job made may be written, and no other one.
    let words = "[new]\nrw=write\nsize=8k\nfilename=new\n[words]\nstonewall\nrw=write\nsize=8k\nfilename=thesis\n";
    let words = scratch.file("words.fio", words);
    let said = wharf_fails(1, &["bench", "--fio", words.to_str().unwrap(), &url]);
    assert!(said.contains("thesis exists") && said.contains("--overwrite"), "{said}");
    assert_eq!(fs::read_to_string(export.join("thesis")).unwrap(), "my words\n".repeat(1000));
}

#[test]
fn line_of_a_job_file_that_would_be_measured_differently_is_refused_before_anything_is_done() {
    let scratch = Scratch::new();
    let file = scratch.file("jobs.fio", "[one]\nsize=1m\nrw=read\niodepth=16\n");
    let file = file.to_str().unwrap();
    let url = "nfs://127.0.0.1:1/x";
    let said = wharf_fails(2, &["bench", "--fio", file, url]);
    assert!(said.contains(&format!("{file}, line 4: iodepth=16")) && said.contains("ioengine=libaio"), "{said}");
    let said = wharf_fails(2, &["bench", "--fio", file, "--iodepth", "4", url]);
    assert!(said.contains("--fio") && said.contains("--iodepth"), "{said}");
    let missing = scratch.path("none.fio");
    let said = wharf_fails(1, &["bench", "--fio", missing.to_str().unwrap(), url]);
    assert!(said.contains("none.fio") && said.contains("No such file"), "{said}");
}

#[test]
fn profiles_of_the_documentation_run_with_a_curve_and_jobs_with_a_rate_do_not() {
    let scratch = Scratch::new();
    let server = Server::start(1, &["--no-root-squash", "mem:64M"]);
    let url = server.url("/mem");
    for name in ["database", "video", "build"] {
        let profile = format!("{}/../../docs/examples/{name}.fio", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(profile).unwrap();
        // The same profile, smaller and shorter.
        let small = text
            .replace("size=1g", "size=1m")
            .replace("size=128m", "size=2m")
            .replace("runtime=10", "runtime=50ms")
            .replace("ramp_time=2", "ramp_time=0");
        assert_ne!(small, text);
        let file = scratch.file(&format!("{name}.fio"), &small);
        let text = wharf_ok(&["bench", "--fio", file.to_str().unwrap(), "--curve", "2", &url]);
        for share in ["50 %", "100 %"] {
            assert!(text.lines().any(|line| line.starts_with(&format!("{name} {share} "))), "{text}");
        }
    }
    let paced = scratch.file("paced.fio", "[a]\nsize=1m\nrate_iops=10\n");
    let said = wharf_fails(2, &["bench", "--fio", paced.to_str().unwrap(), "--curve", "2", &url]);
    assert!(said.contains("the job a has a rate"), "{said}");
}
