//! An export that leaves the configuration while a write log may have changes of it: nothing is lost, and a start, a
//! reload and `--check` say so.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use testing::Scratch;
use testing::program::{Server, commands_in, paste, wharf_fails, wharf_ok};

/// The exports `stays` and `leaves`, with a configuration file.
struct Site {
    scratch: Scratch,
}

impl Site {
    fn new() -> Site {
        let site = Site { scratch: Scratch::on_disk() };
        ["stays", "leaves"].iter().for_each(|name| drop(site.scratch.dir(name)));
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn configure(&self, exports: &[&str]) {
        let exports =
            exports.iter().map(|name| format!("[[export]]\npath = \"{}\"\nsquash = \"none\"\n", self.text(name)));
        self.scratch.file("wharf.toml", &exports.collect::<String>());
    }

    fn arguments(&self, exports: &[&str], with_log: bool) -> Vec<String> {
        self.configure(exports);
        let mut arguments =
            ["--config", &self.text("wharf.toml"), "--state-dir", &self.text("state")].map(str::to_owned).to_vec();
        if with_log {
            let log = ["--write-log", &self.text("log"), "--write-log-size", "4M", "--write-log-max-age", "60s"];
            arguments.extend(log.map(str::to_owned));
        }
        arguments
    }

    fn serve(&self, exports: &[&str], with_log: bool) -> Server {
        let arguments = self.arguments(exports, with_log);
        Server::start(exports.len(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn check(&self, exports: &[&str], with_log: bool) -> Vec<String> {
        let serve = ["serve", "--check", "--listen", "127.0.0.1:0"].map(str::to_owned);
        [&serve[..], &self.arguments(exports, with_log)].concat()
    }

    fn change(&self, server: &Server, export: &str) {
        let file = self.scratch.file("file", "acknowledged");
        wharf_ok(&["cp", "--overwrite", file.to_str().unwrap(), &server.url(self.path(export))]);
    }

    fn assert_has_change(&self, export: &str) {
        assert_eq!(fs::read_to_string(self.path(export).join("file")).unwrap(), "acknowledged");
    }
}

fn end(mut server: Server, signal: Signal) {
    server.signal(signal);
    server.wait();
}

#[test]
fn start_without_the_export_is_refused_while_the_log_has_changes_of_it() {
    let site = Site::new();
    let server = site.serve(&["stays", "leaves"], true);
    site.change(&server, "leaves");
    end(server, Signal::KILL);
    let check = site.check(&["stays"], true);
    let start: Vec<String> = check.iter().filter(|argument| *argument != "--check").cloned().collect();
    for arguments in [check, start] {
        let said = wharf_fails(1, &arguments);
        assert!(said.contains(&format!("changes of {}, which is not exported now", site.text("leaves"))), "{said}");
    }
    end(site.serve(&["stays", "leaves"], true), Signal::TERM);
    site.assert_has_change("leaves");
}

#[test]
fn start_without_export_and_log_warns_until_the_changes_are_in_storage() {
    let site = Site::new();
    let server = site.serve(&["leaves"], true);
    site.change(&server, "leaves");
    end(server, Signal::KILL);
    let warning = format!("acknowledged changes of {} may be in the write log", site.text("leaves"));
    let said = wharf_ok(&site.check(&["stays"], false));
    assert!(said.contains("remark: ") && said.contains(&warning), "{said}");
    let server = site.serve(&["stays"], false);
    server.wait_for_log(&warning);
    site.configure(&["stays"]);
    server.signal(Signal::HUP);
    server.wait_for_log("reloaded");
    assert_eq!(server.log().matches(&warning).count(), 2, "{}", server.log());
    end(server, Signal::TERM);
    let [drain, _] = &commands_in(&said)[..] else { panic!("two commands in {said}") };
    paste(drain);
    site.assert_has_change("leaves");
    let said = wharf_ok(&site.check(&["stays"], false));
    assert!(!said.contains("write log"), "{said}");
}

#[test]
fn reload_without_the_export_brings_its_changes_to_storage_and_releases_it() {
    let site = Site::new();
    let server = site.serve(&["stays", "leaves"], true);
    ["stays", "leaves"].iter().for_each(|export| site.change(&server, export));
    site.configure(&["stays"]);
    server.signal(Signal::HUP);
    server.wait_for_log("reloaded");
    end(server, Signal::KILL);
    let info = wharf_ok(&["log", "info", &site.text("log"), "--state-dir", &site.text("state")]);
    assert!(info.contains(&site.text("stays")) && !info.contains(&site.text("leaves")), "{info}");
    // The other one still depends on the log, which is said.
    let server = site.serve(&["leaves"], false);
    server.wait_for_log(&format!("acknowledged changes of {} may be in the write log", site.text("stays")));
    site.assert_has_change("leaves");
}

#[test]
fn export_that_left_when_the_log_had_nothing_of_it_is_released_by_a_drain() {
    let site = Site::new();
    end(site.serve(&["stays", "leaves"], true), Signal::KILL);
    end(site.serve(&["stays"], true), Signal::TERM);
    let start = site.check(&["leaves"], false);
    let [drain, _] = &commands_in(&wharf_fails(1, &start))[..] else { panic!("two commands") };
    paste(drain);
    wharf_ok(&start);
    end(site.serve(&["leaves"], false), Signal::TERM);
}

#[test]
fn other_directory_at_the_path_is_not_served_while_the_log_has_changes_of_the_first_one() {
    let site = Site::new();
    let server = site.serve(&["leaves"], true);
    site.change(&server, "leaves");
    end(server, Signal::KILL);
    fs::rename(site.path("leaves"), site.path("elsewhere")).unwrap();
    fs::create_dir(site.path("leaves")).unwrap();
    let check = site.check(&["leaves"], false);
    let start: Vec<String> = check.iter().filter(|argument| *argument != "--check").cloned().collect();
    for arguments in [&check, &start] {
        let said = wharf_fails(1, arguments);
        assert!(said.contains("those of another directory that was exported at this path"), "{said}");
    }
    // Nor with another log.
    let other = [&check[..], &["--write-log".to_owned(), site.text("other-log")]].concat();
    assert!(wharf_fails(1, &other).contains("may be in another write log alone"));
    let [_, discard] = &commands_in(&wharf_fails(1, &check))[..] else { panic!("two commands") };
    assert!(paste(discard).contains("no longer depends on the log"));
    end(site.serve(&["leaves"], false), Signal::TERM);
}

#[test]
fn directory_that_is_exported_by_another_path_is_recognised_and_the_path_in_the_log_is_named() {
    let site = Site::new();
    let server = site.serve(&["leaves"], true);
    site.change(&server, "leaves");
    end(server, Signal::KILL);
    std::os::unix::fs::symlink(site.path("leaves"), site.path("link")).unwrap();
    let refused = |export: &str| {
        let said = wharf_fails(1, &site.check(&[export], true));
        let [now, known] = [export, "leaves"].map(|name| site.text(name));
        assert!(said.contains(&format!("exported as {now}, and the log knows it as {known} alone")), "{said}");
        assert!(said.contains(&format!("`mount --bind {now} {known}`")), "{said}");
    };
    refused("link");
    fs::rename(site.path("leaves"), site.path("moved")).unwrap();
    refused("moved");
    // The commands need the directory there, too.
    let drain = ["log", "drain", &site.text("log"), "--state-dir", &site.text("state")];
    let said = wharf_fails(1, &drain);
    assert!(said.contains("if it is at another path now, bring it back there"), "{said}");
    fs::rename(site.path("moved"), site.path("leaves")).unwrap();
    end(site.serve(&["leaves"], true), Signal::TERM);
    end(site.serve(&["link"], true), Signal::TERM);
}

#[test]
fn directory_that_a_reload_exports_by_another_path_still_depends_on_the_log() {
    let site = Site::new();
    std::os::unix::fs::symlink(site.path("leaves"), site.path("link")).unwrap();
    let server = site.serve(&["leaves"], true);
    site.configure(&["link"]);
    server.signal(Signal::HUP);
    server.wait_for_log("reloaded");
    site.change(&server, "link");
    end(server, Signal::KILL);
    for export in ["leaves", "link"] {
        let said = wharf_fails(1, &site.check(&[export], false));
        assert!(said.contains("acknowledged changes of") && said.contains("wharf log drain"), "{said}");
    }
    end(site.serve(&["link"], true), Signal::TERM);
    let said = wharf_ok(&site.check(&["stays"], false));
    assert!(!said.contains("write log"), "{said}");
}
