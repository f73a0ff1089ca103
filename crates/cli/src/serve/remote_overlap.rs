//! Detects exported directories of other servers that contain one another. This server does not see where one begins
//! within the other, so it cannot enforce different clients or options.

use client::Url;
use config::{ExportSpec, Source};
use server::AccessRule;

use crate::failure::{ExportError, Failure};

/// Returns a failure for every export that contains another one of the same server, or is inside it, with other clients
/// or options.
pub fn failures(specs: &[ExportSpec]) -> Vec<Failure> {
    let remotes: Vec<(&ExportSpec, Url)> = specs.iter().filter_map(|spec| Some((spec, url(spec)?))).collect();
    let mut failures = Vec::new();
    for (index, (spec, url)) in remotes.iter().enumerate() {
        let is_in_the_way = |(other, other_url): &&(&ExportSpec, Url)| {
            overlap(url, other_url) && !AccessRule::are_same(&spec.rules, &other.rules)
        };
        if let Some((other, _)) = remotes[..index].iter().find(is_in_the_way) {
            let source = ExportError::Overlap { other: other.name.clone() };
            failures.push(Failure::Export { origin: spec.origin.clone(), source });
        }
    }
    failures
}

fn url(spec: &ExportSpec) -> Option<Url> {
    match &spec.source {
        Source::Remote { url } => url.parse().ok(),
        Source::Dir(_) | Source::Memory { .. } => None,
    }
}

fn overlap(a: &Url, b: &Url) -> bool {
    let names = |url: &Url| -> Vec<Vec<u8>> {
        let parts = url.path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
        parts.map(<[u8]>::to_vec).collect()
    };
    let (a_names, b_names) = (names(a), names(b));
    let is_one_server = a.host.eq_ignore_ascii_case(&b.host) && a.port == b.port;
    is_one_server && (a_names.starts_with(&b_names) || b_names.starts_with(&a_names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{Defaults, ExportFlags};
    use std::path::Path;

    fn spec(export: &str, client: &str) -> ExportSpec {
        let flags =
            ExportFlags { exports: vec![export.into()], clients: vec![client.to_owned()], ..ExportFlags::default() };
        flags.parse(Path::new("/"), &Defaults::privileged()).unwrap().remove(0)
    }

    #[test]
    fn inner_directory_of_another_server_needs_the_rules_of_the_outer_one() {
        let outer = spec("nfs://nas/export=/a", "10.0.0.0/8");
        for (url, client, is_refused) in [
            ("nfs://NAS/export/private=/b", "10.0.0.1", true),
            ("nfs://nas//export/./private=/b", "10.0.0.1", true),
            ("nfs://nas/=/b", "10.0.0.1", true),
            ("nfs://nas/export/private=/b", "10.0.0.0/8", false),
            ("nfs://nas/exported=/b", "10.0.0.1", false),
            ("nfs://other/export/private=/b", "10.0.0.1", false),
        ] {
            let failures = failures(&[outer.clone(), spec(url, client)]);
            assert_eq!(!failures.is_empty(), is_refused, "{url} {client}");
        }
    }
}
