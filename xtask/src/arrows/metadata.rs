//! What cargo knows of the workspace.

use std::path::Path;

use serde_json::Value;

use crate::{Outcome, command};

/// The crates and the dependencies between them.
pub struct Workspace {
    /// Names as the table has them.
    pub crates: Vec<String>,
    /// Dependencies of one crate here on another.
    pub arrows: Vec<Arrow>,
}

/// One crate here depends on another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    pub from: String,
    pub to: String,
    pub kind: Kind,
}

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// For the program, or for building it.
    Program,
    /// For tests, examples and benchmarks.
    Tests,
}

/// Asks cargo.
pub fn read(root: &Path) -> Outcome<Workspace> {
    let json = command::output(command::cargo(root, &["metadata", "--no-deps", "--format-version", "1"]))?;
    Ok(parse(&serde_json::from_slice(&json)?))
}

fn parse(metadata: &Value) -> Workspace {
    let packages = list(&metadata["packages"]);
    let crates: Vec<String> = packages.iter().map(|package| short_name(&package["name"])).collect();
    let arrows = packages.iter().flat_map(|package| {
        let from = short_name(&package["name"]);
        // A dependency with a path is a crate of this checkout; one from a registry has none.
        let own = list(&package["dependencies"]).iter().filter(|dependency| dependency["path"].is_string());
        own.map(move |dependency| {
            let kind = if dependency["kind"] == "dev" { Kind::Tests } else { Kind::Program };
            Arrow { from: from.clone(), to: short_name(&dependency["name"]), kind }
        })
    });
    Workspace { arrows: arrows.collect(), crates }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The name without `wharf-`; the program's crate, which is called `wharf`, is `cli`.
fn short_name(name: &Value) -> String {
    match name.as_str().unwrap_or_default() {
        "wharf" => "cli".to_owned(),
        name => name.strip_prefix("wharf-").unwrap_or(name).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_dependencies_are_arrows_and_foreign_ones_are_not() {
        let metadata = serde_json::json!({"packages": [
            {"name": "wharf", "dependencies": [
                {"name": "wharf-net", "path": "/x/net", "kind": null},
                {"name": "wharf-fs-mem", "path": "/x/fs-mem", "kind": "dev"},
                {"name": "libc", "kind": null},
            ]},
        ]});
        let workspace = parse(&metadata);
        let arrow = |to: &str, kind| Arrow { from: "cli".to_owned(), to: to.to_owned(), kind };
        assert_eq!(workspace.crates, ["cli"]);
        assert_eq!(workspace.arrows, [arrow("net", Kind::Program), arrow("fs-mem", Kind::Tests)]);
    }
}
