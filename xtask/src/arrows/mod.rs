//! `cargo xtask arrows`: dependencies between Wharf's crates are those that the table says, no more and no fewer.

mod metadata;
mod table;

use std::path::Path;

use crate::{Failure, Outcome};
use metadata::{Arrow, Kind};
use table::{Row, TABLE};

/// Prints every arrow that the table does not allow, and those that it allows and nobody needs.
pub fn run(root: &Path) -> Outcome {
    let workspace = metadata::read(root)?;
    let unknown =
        workspace.crates.iter().filter(|name| row(name).is_none()).map(|name| {
            format!("crate `{name}` has no row in xtask/src/arrows/table.rs: say there what it may depend on")
        });
    let gone = TABLE
        .iter()
        .filter(|row| !workspace.crates.iter().any(|name| name == row.name))
        .map(|row| format!("row `{}` of xtask/src/arrows/table.rs is of no crate", row.name));
    let forbidden = workspace.arrows.iter().filter_map(complaint);
    let idle = TABLE.iter().flat_map(|row| idle(row, &workspace.arrows));
    let complaints: Vec<String> = unknown.chain(gone).chain(forbidden).chain(idle).collect();
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    match complaints.len() {
        0 => Ok(()),
        count => Err(Failure::Broken { count, what: "wrong arrows" }),
    }
}

fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

/// What is wrong with an arrow, if anything. A crate without a row was complained of already.
fn complaint(arrow: &Arrow) -> Option<String> {
    let row = row(&arrow.from)?;
    let to = arrow.to.as_str();
    let is_allowed = row.needs.contains(&to) || (arrow.kind == Kind::Tests && row.tests.contains(&to));
    let for_tests = if arrow.kind == Kind::Tests { " in its tests" } else { "" };
    (!is_allowed).then(|| {
        format!("crate `{}` must not depend on `{to}`{for_tests}: see the arrows in ARCHITECTURE.md", arrow.from)
    })
}

/// What the table allows a crate and the crate does not do.
fn idle(row: &Row, arrows: &[Arrow]) -> Vec<String> {
    let programs = row.needs.iter().map(|to| (to, Kind::Program));
    let tests = row.tests.iter().map(|to| (to, Kind::Tests));
    let is_idle = |(to, kind): &(&&str, Kind)| {
        !arrows.iter().any(|arrow| arrow.from == row.name && arrow.to == **to && arrow.kind == *kind)
    };
    let told = |(to, _)| {
        format!("crate `{}` does not depend on `{to}`: take it out of its row in xtask/src/arrows/table.rs", row.name)
    };
    programs.chain(tests).filter(is_idle).map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(from: &str, to: &str, kind: Kind) -> Arrow {
        Arrow { from: from.to_owned(), to: to.to_owned(), kind }
    }

    #[test]
    fn forbidden_arrow_is_named_and_an_allowed_one_passes() {
        assert_eq!(complaint(&arrow("rpc", "xdr", Kind::Program)), None);
        let text = complaint(&arrow("vfs", "proto", Kind::Program)).unwrap();
        assert!(text.contains("`vfs`") && text.contains("`proto`"), "{text}");
    }

    #[test]
    fn arrow_of_the_tests_is_no_arrow_of_the_program() {
        assert_eq!(complaint(&arrow("fs-fault", "fs-mem", Kind::Tests)), None);
        assert!(complaint(&arrow("fs-fault", "fs-mem", Kind::Program)).is_some());
    }

    #[test]
    fn arrow_that_nobody_needs_is_named() {
        let row = Row { name: "a", needs: &["b", "c"], tests: &["d"] };
        let arrows = [arrow("a", "b", Kind::Program), arrow("a", "c", Kind::Tests), arrow("b", "d", Kind::Tests)];
        let idle = idle(&row, &arrows);
        assert!(idle.len() == 2 && idle[0].contains("`c`") && idle[1].contains("`d`"), "{idle:?}");
    }

    #[test]
    fn table_has_no_circle() {
        // Each round takes away the crates that need nothing any more; a circle would stay.
        let mut left: Vec<&Row> = TABLE.iter().collect();
        for _ in 0..TABLE.len() {
            let names: Vec<&str> = left.iter().map(|row| row.name).collect();
            left.retain(|row| row.needs.iter().any(|need| names.contains(need)));
        }
        assert!(left.is_empty(), "{:?}", left.iter().map(|row| row.name).collect::<Vec<_>>());
    }
}
