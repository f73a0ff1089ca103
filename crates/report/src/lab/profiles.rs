//! Where servers spend their processor time, and how contenders differ in that.

use std::io;

use inferno::flamegraph::{self, Options};
use measure::record::{Profile, Profiles, ShareChange};

use super::{Block, FlameGraph, Section};
use crate::table::{Column, Table};

/// How many functions of each contender the table has.
const FUNCTIONS: usize = 8;
/// Smaller differences are left out, as shares.
const MIN_DIFFERENCE: f64 = 0.001;

/// What profiles show, with a flame graph of the reference and one of each difference to it.
pub(super) fn section(profiles: &Profiles) -> io::Result<Section> {
    let mut blocks = Vec::new();
    if let Some((reference, others)) = profiles.contenders.split_first() {
        blocks.push(Block::Text(lead(profiles, reference)));
        if !others.is_empty() {
            blocks.push(changes(reference, others));
        }
        blocks.push(graph(0, reference)?);
        for (index, contender) in others.iter().enumerate() {
            blocks.push(difference(index + 1, reference, contender)?);
        }
    }
    Ok(Section { id: "profiles".to_owned(), title: "Profiles".to_owned(), blocks })
}

fn lead(profiles: &Profiles, reference: &Profile) -> String {
    format!(
        "perf took {} samples a second of the processor time of each contender's server, in {} extra passes that do \
         not count. “{}” has {} samples. A difference as small as that of the control (A/A) means nothing.",
        profiles.samples_per_second,
        profiles.contenders.iter().map(|profile| profile.passes).max().unwrap_or(0),
        reference.contender,
        reference.samples()
    )
}

fn changes(reference: &Profile, others: &[Profile]) -> Block {
    let numbers = ["samples", "reference, %", "contender, %", "difference, points"].map(Column::number);
    let heads = [Column::text("contender")].into_iter().chain(numbers);
    let mut table = Table::new(heads.chain([Column::text("function")]));
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    for contender in others {
        let large = |change: &ShareChange<'_>| change.difference().abs() >= MIN_DIFFERENCE;
        for change in contender.changes_from(reference).into_iter().filter(large).take(FUNCTIONS) {
            table.push([
                contender.contender.clone(),
                contender.samples().to_string(),
                percent(change.before),
                percent(change.after),
                format!("{:+.1}", change.difference() * 100.0),
                change.function.to_owned(),
            ]);
        }
    }
    let caption = format!(
        "Shares of samples in a function itself that differ most from those of “{}”, the kernel's functions too",
        reference.contender
    );
    Block::Table(caption, table)
}

fn graph(number: usize, profile: &Profile) -> io::Result<Block> {
    let lines: Vec<String> = profile.stacks.iter().map(|(stack, count)| format!("{stack} {count}")).collect();
    let title = profile.contender.clone();
    let description = "Width is the share of processor time; a function lies on the one that called it.";
    flame_graph(number, &title, description, &lines)
}

/// The contender's stacks, with the reference's samples as if both had as many.
fn difference(number: usize, reference: &Profile, contender: &Profile) -> io::Result<Block> {
    let scale = contender.samples() as f64 / reference.samples().max(1) as f64;
    let stacks = reference.stacks.keys().chain(contender.stacks.keys());
    let mut stacks: Vec<&String> = stacks.collect();
    stacks.sort();
    stacks.dedup();
    let count = |profile: &Profile, stack| profile.stacks.get(stack).copied().unwrap_or(0);
    let line = |stack| {
        let before = (count(reference, stack) as f64 * scale).round();
        format!("{stack} {before} {}", count(contender, stack))
    };
    let lines: Vec<String> = stacks.into_iter().map(line).collect();
    let title = format!("{}, compared with {}", contender.contender, reference.contender);
    let description = "Width is the share of this contender's processor time; red functions take more of it than in the \
                       reference, blue ones less.";
    flame_graph(number, &title, description, &lines)
}

fn flame_graph(number: usize, title: &str, description: &str, lines: &[String]) -> io::Result<Block> {
    let mut options = Options::default();
    title.clone_into(&mut options.title);
    options.deterministic = true;
    options.count_name = "samples".to_owned();
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg).map_err(io::Error::other)?;
    Ok(Block::Flames(FlameGraph {
        id: format!("profile-{number}"),
        title: title.to_owned(),
        description: description.to_owned(),
        svg: String::from_utf8_lossy(&svg).into_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(contender: &str, stacks: &[(&str, u64)]) -> Profile {
        let stacks = stacks.iter().map(|&(stack, count)| (stack.to_owned(), count)).collect();
        Profile { contender: contender.to_owned(), passes: 2, stacks }
    }

    fn profiles() -> Profiles {
        let copy = profile("copy", &[("loop;send;copy_user", 60), ("loop;recv", 40)]);
        let splice = profile("zero-copy <x>", &[("loop;send;splice", 5), ("loop;recv", 15)]);
        Profiles { samples_per_second: 99, contenders: vec![copy, splice] }
    }

    #[test]
    fn table_has_the_functions_whose_shares_differ_and_the_graph_what_only_the_contender_does() {
        let section = section(&profiles()).unwrap();
        let [Block::Text(_), Block::Table(_, table), Block::Flames(_), Block::Flames(graph)] = &section.blocks[..]
        else {
            panic!("{section:?}");
        };
        let rows = table.to_csv();
        assert!(rows.contains("zero-copy <x>,20,60.0,0.0,-60.0,copy_user"), "{rows}");
        assert!(rows.contains("zero-copy <x>,20,40.0,75.0,+35.0,recv"), "{rows}");
        assert!(graph.svg.contains("splice (5 samples, 25.00%; +25.00%)"), "{}", graph.svg);
        assert!(graph.svg.contains("zero-copy &lt;x&gt;, compared with copy"));
    }

    #[test]
    fn page_has_each_graph_in_a_frame_of_its_own_that_needs_no_other_file() {
        let report = super::super::Report {
            title: String::new(),
            lead: Vec::new(),
            sections: vec![section(&profiles()).unwrap()],
        };
        let page = report.to_html();
        assert_eq!(page.matches("<iframe ").count(), 2);
        // Nothing of a graph's own markup is part of the page.
        assert!(page.contains("src=\"data:image/svg+xml,%3C") && !page.contains("<svg"), "{page}");
        let graphs = report.flame_graphs();
        assert_eq!(
            graphs.iter().map(|graph| graph.file_name()).collect::<Vec<_>>(),
            ["profile-0.svg", "profile-1.svg"]
        );
        assert!(report.to_markdown().contains("(profile-1.svg)") && !report.to_text().contains("svg"));
    }
}
