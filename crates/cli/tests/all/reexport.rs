//! What one server exports, served on by another one.

use std::fs;

use testing::Scratch;
use testing::program::{Server, make_tree, snapshot, wharf_fails, wharf_ok};

/// The versions in which the second server asks the first one, and a client the second.
const VERSIONS: [(&str, &str); 5] = [("3", "4.2"), ("2", "3"), ("4.2", "3"), ("4.1", "4.0"), ("4.0", "2")];

fn serve_on(origin: &Server, version: &str) -> Server {
    let url = format!("{}?version={version}=/re", origin.url("/origin"));
    Server::start(1, &["--no-root-squash", &url])
}

#[test]
fn tree_goes_through_a_server_that_serves_another_one_on_and_comes_back() {
    let scratch = Scratch::new();
    let tree = scratch.path("tree");
    make_tree(&tree);
    let expected = snapshot(&tree);
    let origin = Server::start(1, &["--no-root-squash", "mem:64M=/origin"]);
    for (behind, before) in VERSIONS {
        let server = serve_on(&origin, behind);
        let way = format!("{before} over {behind}");
        let (remote, back) = (format!("{}?version={before}", server.url("/re/copy")), scratch.path("back"));
        wharf_ok(&["cp", "-r", "--verify", tree.to_str().unwrap(), &remote]);
        wharf_ok(&["cp", "-r", "--verify", &origin.url("/origin/copy"), back.to_str().unwrap()]);
        assert!(snapshot(&back) == expected, "{way}: the first server has another tree");
        fs::remove_dir_all(&back).unwrap();
        wharf_ok(&["cp", "-r", "--verify", &remote, back.to_str().unwrap()]);
        assert!(snapshot(&back) == expected, "{way}: another tree came back");
        fs::remove_dir_all(&back).unwrap();
        wharf_ok(&["rm", "-r", &remote]);
        assert_eq!(wharf_ok(&["ls", "-a", &origin.url("/origin")]), "", "{way}");
        assert!(!server.log().contains("ERROR"), "{}", server.log());
    }
}

#[test]
fn directory_that_is_not_there_is_refused_with_the_url() {
    let origin = Server::start(1, &["mem:1M=/origin"]);
    let url = format!("{}?version=4.2=/re", origin.url("/origin/missing"));
    let said = wharf_fails(1, &["serve", "--listen", "127.0.0.1:0", &url]);
    assert!(said.contains(&url) && said.contains("no such file"), "{said}");
}
