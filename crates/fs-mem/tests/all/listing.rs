//! Directories are listed right while they change.

use std::collections::HashSet;

use vfs::{Context, Detail, Error, FileSystem, Listing, ReadDir};

use crate::shell::Shell;
use testing::Random;

#[test]
fn cookie_of_a_removed_entry_still_says_where_to_go_on() {
    let shell = Shell::new();
    for name in ["a", "b", "c"] {
        shell.create(name).unwrap();
    }
    let (_, cookie) = shell.list("", 0, 2).unwrap()[1].clone();
    shell.remove("b").unwrap();
    shell.remove("a").unwrap();
    shell.create("b").unwrap();
    let names: Vec<_> = shell.list("", cookie, 10).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["c", "b"]);
}

#[test]
fn cookie_that_was_never_given_is_refused() {
    let shell = Shell::new();
    shell.create("a").unwrap();
    assert!(matches!(shell.list("", 2, 10), Err(Error::BadCookie)));
    assert!(matches!(shell.list("", u64::MAX, 10), Err(Error::BadCookie)));
    assert!(shell.list("", 1, 10).unwrap().is_empty());
}

#[test]
fn listing_says_whether_it_came_to_the_end() {
    let shell = Shell::new();
    shell.create("a").unwrap();
    let root = shell.0.root();
    let list = ReadDir { dir: &root, after: 0, detail: Detail::Names };
    let end = |flow| shell.0.read_dir(&Context::ROOT, list, &mut |_| flow).unwrap();
    assert_eq!(end(std::ops::ControlFlow::Continue(())), Listing::Complete);
    assert_eq!(end(std::ops::ControlFlow::Break(())), Listing::Stopped);
    shell.create("f").unwrap();
    assert!(matches!(shell.list("f", 0, 1), Err(Error::NotDirectory)));
}

#[test]
fn consumer_of_a_listing_may_change_the_directory() {
    let shell = Shell::new();
    for number in 0..300 {
        shell.create(&number.to_string()).unwrap();
    }
    let root = shell.0.root();
    let list = ReadDir { dir: &root, after: 0, detail: Detail::Names };
    let end = shell.0.read_dir(&Context::ROOT, list, &mut |entry| {
        shell.remove(std::str::from_utf8(entry.name).unwrap()).unwrap();
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(end.unwrap(), Listing::Complete);
    assert!(shell.list("", 0, 1).unwrap().is_empty());
}

#[test]
fn name_that_is_replaced_keeps_its_place_in_the_listing() {
    let shell = Shell::new();
    for name in ["a", "b", "c"] {
        shell.create(name).unwrap();
    }
    let before = shell.list("", 0, 10).unwrap();
    shell.rename("c", "a").unwrap();
    assert_eq!(shell.list("", 0, 10).unwrap(), before[..2]);
}

#[test]
fn listing_of_100_000_names_gives_each_that_stays_exactly_once_while_others_come_and_go() {
    const SEED: u64 = 7;
    println!("seed {SEED}");
    let (shell, mut random) = (Shell::new(), Random(SEED));
    for number in 0..100_000 {
        shell.create(&format!("stays{number}")).unwrap();
    }
    let (mut seen, mut after, mut round) = (HashSet::new(), 0, 0);
    loop {
        let part = shell.list("", after, 1000).unwrap();
        let Some((_, cookie)) = part.last() else { break };
        after = *cookie;
        for (name, _) in part {
            assert!(!name.starts_with("stays") || seen.insert(name.clone()), "{name} came twice");
        }
        if round < 50 {
            shell.create(&format!("comes{round}")).unwrap();
        }
        if round > 0 && random.below(2) == 0 {
            // It may be gone already: that is as good.
            let _ = shell.remove(&format!("comes{}", random.below(round)));
        }
        round += 1;
    }
    assert_eq!(seen.len(), 100_000);
}
