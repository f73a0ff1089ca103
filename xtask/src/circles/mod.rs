//! `cargo xtask circles`: files of a crate that use each other in a circle. They can only be read together, so each
//! circle needs a reason in `allowed.rs`.

mod allowed;
mod modules;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::source::{has_extension, packages, rust_files};
use crate::{Failure, Outcome};
use allowed::{ALLOWED, Allowed};
use modules::{Arrows, Modules};

/// The list of circles that stay.
const LIST: &str = "xtask/src/circles/allowed.rs";

/// A set of files, relative to the `src` of their crate.
type Files = BTreeSet<PathBuf>;

/// Prints every circle of one crate, allowed or not, with what its files use of each other.
pub fn list(root: &Path, package: &str) -> Outcome {
    let modules = read(&root.join("crates").join(package).join("src"))?;
    let arrows = modules.arrows();
    for circle in circles(&arrows) {
        println!("circle of {} files:", circle.len());
        for ((from, to), names) in &arrows {
            if circle.contains(*from) && circle.contains(*to) {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                println!("  {} uses {}: {}", from.display(), to.display(), names.join(", "));
            }
        }
    }
    Ok(())
}

/// Prints every circle that is not allowed, and every allowance that nothing needs.
pub fn run(root: &Path) -> Outcome {
    let mut complaints = Vec::new();
    for package in packages(root)? {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let circles = circles(&read(&package.join("src"))?.arrows());
        let allowed: Vec<&Allowed> = ALLOWED.iter().filter(|allowed| allowed.package == name).collect();
        complaints.extend(judge(&name, &circles, &allowed));
    }
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    match complaints.len() {
        0 => Ok(()),
        count => Err(Failure::Broken { count, what: "wrong circles of files" }),
    }
}

/// The modules of a crate, without those for tests only.
fn read(src: &Path) -> Outcome<Modules> {
    let mut modules = Modules::default();
    for path in rust_files(src)? {
        let file = path.strip_prefix(src).unwrap_or(&path);
        let is_test = file.iter().any(|part| part == "tests" || part == "tests.rs");
        if is_test || !has_extension(file, "rs") {
            continue;
        }
        let source = fs::read_to_string(&path).map_err(|source| Failure::File { path: path.clone(), source })?;
        modules.add(file, &source).map_err(|source| Failure::Syntax { path: path.clone(), source })?;
    }
    Ok(modules)
}

/// The circles, each as large as it can be.
fn circles(arrows: &Arrows<'_>) -> Vec<Files> {
    let graph = DiGraphMap::<&Path, ()>::from_edges(arrows.keys());
    let groups = tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1);
    groups.map(|group| group.into_iter().map(Path::to_owned).collect()).collect()
}

/// What is wrong with the circles of a crate.
fn judge(package: &str, circles: &[Files], allowed: &[&Allowed]) -> Vec<String> {
    let covers = |allowed: &Allowed, circle: &Files| {
        circle.iter().all(|file| allowed.files.iter().any(|start| file.starts_with(start)))
    };
    let new = circles.iter().filter(|circle| !allowed.iter().any(|allowed| covers(allowed, circle))).map(|circle| {
        let files: Vec<_> = circle.iter().map(|file| file.display().to_string()).collect();
        let files = files.join(", ");
        format!("crate `{package}`: {files} use each other in a circle; break it, or say in {LIST} why it stays")
    });
    let idle = allowed.iter().filter(|allowed| !circles.iter().any(|circle| covers(allowed, circle))).map(|allowed| {
        let Allowed { files, reason, .. } = allowed;
        format!("crate `{package}`: no circle in {files:?} ({reason}): take it out of {LIST}")
    });
    new.chain(idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let mut modules = Modules::default();
        files.iter().for_each(|(file, source)| modules.add(Path::new(file), source).unwrap());
        let names = |circle: &Files| circle.iter().map(|file| file.display().to_string()).collect();
        circles(&modules.arrows()).iter().map(names).collect()
    }

    #[test]
    fn files_that_use_each_other_are_a_circle_by_whatever_path() {
        let by_use = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::a::g() }")];
        assert_eq!(found(&by_use), [["a.rs", "b.rs"]]);
        let nested = [
            ("lib.rs", "mod a; pub use a::A;"),
            ("a/mod.rs", "mod b; pub struct A; use b::{self as inner, B};"),
            ("a/b.rs", "use crate::A; pub struct B(A);"),
        ];
        assert_eq!(found(&nested), [["a/b.rs", "a/mod.rs"]]);
    }

    #[test]
    fn module_that_only_names_its_parts_is_in_no_circle() {
        let parts = [("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"), ("a.rs", "use crate::B;"), ("b.rs", "")];
        assert!(found(&parts).is_empty());
    }

    #[test]
    fn tests_and_visibilities_are_no_uses() {
        let tests =
            "#[cfg(test)] mod tests { use crate::b::B; } #[cfg(test)] use crate::b::C; pub(in crate::b) fn f() {}";
        assert!(found(&[("lib.rs", "mod a; mod b;"), ("a.rs", tests), ("b.rs", "use crate::a;")]).is_empty());
    }

    #[test]
    fn circle_without_a_reason_and_reason_without_a_circle_are_named() {
        let circle = |files: &[&str]| -> Files { files.iter().map(PathBuf::from).collect() };
        let allowed = Allowed { package: "p", files: &["a", "b.rs"], reason: "they are one" };
        assert!(judge("p", &[circle(&["a/x.rs", "b.rs"])], &[&allowed]).is_empty());
        let told = judge("p", &[circle(&["a/x.rs", "c.rs"])], &[&allowed]);
        assert!(told.len() == 2 && told[0].contains("a/x.rs, c.rs") && told[1].contains("they are one"), "{told:?}");
    }
}
