//! The experiments of the lab.

mod andrew;
mod builds;
mod clients;
mod contenders;
mod count;
pub mod custom;
mod handle_cache;
mod kind;
mod mix;
mod neighbours;
mod peers;
mod read_ahead;
mod read_plus;
mod reply_path;
mod restricted;
mod segments;
mod stable_storage;
mod truth;

pub use builds::with_builds;
pub use kind::{Conditions, Kind, Scale};
pub use restricted::{Only, OnlyError, restricted};

/// All experiments.
pub const ALL: [Kind; 12] = [
    reply_path::KIND,
    handle_cache::KIND,
    segments::KIND,
    stable_storage::KIND,
    read_plus::KIND,
    read_ahead::KIND,
    peers::KIND,
    clients::KIND,
    neighbours::KIND,
    mix::KIND,
    andrew::KIND,
    truth::KIND,
];

/// There is no experiment of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no experiment '{name}'{}; `wharf lab list` shows all of them", suggestion(*nearest))]
pub struct Unknown {
    /// The name.
    pub name: String,
    /// The name that is most like it, if one is.
    pub nearest: Option<&'static str>,
}

/// How much a name is like another one, from 0 to 1, if it may be meant.
const LIKE: f64 = 0.5;

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(": did you mean '{name}'?")).unwrap_or_default()
}

/// The experiment of this name.
///
/// # Errors
/// [`Unknown`], with the nearest name.
pub fn find(name: &str) -> Result<&'static Kind, Unknown> {
    static KINDS: [Kind; ALL.len()] = ALL;
    let similarity = |kind: &&Kind| strsim::normalized_damerau_levenshtein(kind.name, name);
    let nearest = KINDS.iter().max_by(|one, other| similarity(one).total_cmp(&similarity(other)));
    match nearest {
        Some(kind) if kind.name == name => Ok(kind),
        nearest => {
            let nearest = nearest.filter(|kind| similarity(kind) >= LIKE).map(|kind| kind.name);
            Err(Unknown { name: name.to_owned(), nearest })
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use measure::record::{BeforeAfter, DocumentRatio, TableKind};

    use super::contenders::{GANESHA, ganesha};
    use super::*;
    use crate::Parent;
    use crate::contender::{Contender, Named};
    use crate::engine::{Schedule, Settings};

    pub(crate) fn conditions(scale: Scale) -> Conditions {
        let parent = |path: &str| Parent { path: path.into(), flag: "--dir" };
        let (memory, disk) = (parent("/dev/shm"), parent("/var/tmp"));
        let program = std::path::PathBuf::from("wharf");
        Conditions { server_program: program.clone(), program, scale, memory, disk, servers: Vec::new() }
    }

    #[test]
    fn every_experiment_has_a_name_of_its_own_and_a_design_whose_parts_fit() {
        for kind in ALL {
            assert_eq!(find(kind.name).unwrap().name, kind.name);
            for scale in [Scale::Quick, Scale::Usual, Scale::Full] {
                let experiment = (kind.make)(&conditions(scale)).unwrap();
                assert_eq!(experiment.design().name, kind.name);
                assert!(Schedule::new(experiment.as_ref(), 1).unwrap().passes_per_round() > 0);
            }
        }
    }

    #[test]
    fn all_quick_experiments_take_less_than_ten_minutes_with_every_server_that_there_may_be() {
        // As root all of them take part; this program is one that any user can run.
        let mut conditions = Conditions { server_program: "/bin/true".into(), ..conditions(Scale::Quick) };
        if ganesha().is_err() {
            conditions.servers.push(Named { name: GANESHA.to_owned(), contender: Contender::Ganesha });
        }
        let estimate = |kind: &Kind| {
            let servers =
                if ["peers", "neighbours"].contains(&kind.name) { conditions.servers.clone() } else { Vec::new() };
            let experiment = (kind.make)(&Conditions { servers, ..conditions.clone() }).unwrap();
            let schedule = Schedule::new(experiment.as_ref(), 1).unwrap();
            (kind.name, schedule.estimate(&experiment.needs(), Settings::QUICK_ROUNDS).as_secs_f64().round())
        };
        let estimates: Vec<(&str, f64)> = ALL.iter().map(estimate).collect();
        let total: f64 = estimates.iter().map(|(_, seconds)| seconds).sum();
        assert!(total < 600.0, "{total} s: {estimates:?}");
    }

    #[test]
    fn figures_of_a_document_are_the_references_first_and_then_the_candidates() {
        // A pair of each source that has figures, as it is printed there.
        let printed = [
            ("reply-path", 212_304.0, 245_320.0),
            ("handle-cache", 48_151.09, 50_328.7),
            ("segments", 57_005.0, 35_729.0),
            ("truth", 10_000.0, 10_300.0),
        ];
        for kind in ALL {
            let design = (kind.make)(&conditions(Scale::Full)).unwrap().design();
            let documents: Vec<(&TableKind, &DocumentRatio)> =
                design.tables.iter().flat_map(|table| table.document.iter().map(move |known| (table, known))).collect();
            for (table, document) in &documents {
                assert_ne!(document.levels[&table.factor], table.baseline, "{}: {document:?}", kind.name);
            }
            let figures: Vec<BeforeAfter> = documents.iter().filter_map(|(_, known)| known.figures()).collect();
            let wanted = printed.iter().find(|(name, ..)| *name == kind.name);
            let wanted = wanted.map(|&(_, before, after)| BeforeAfter { before, after });
            assert!(wanted.is_none_or(|pair| figures.contains(&pair)), "{}: {figures:?}", kind.name);
            // The figures of READ_PLUS are there as root only; its own tests have them.
            assert!(wanted.is_some() || figures.is_empty() || kind.name == "read-plus", "{}", kind.name);
        }
    }

    #[test]
    fn unknown_name_suggests_the_nearest() {
        assert_eq!(find("replypath").unwrap_err().nearest, Some("reply-path"));
        assert_eq!(find("raed-ahead").unwrap_err().nearest, Some("read-ahead"));
    }
}
