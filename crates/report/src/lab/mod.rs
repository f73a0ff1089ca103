//! What an experiment found, in every format: its record and its [`Results`] in, text out.

mod chart;
mod compare;
mod conclusion;
mod files;
mod forest;
mod history;
mod junit;
mod over_time;
mod page;
mod plots;
mod profiles;
mod sections;
mod words;

use std::io;

use measure::analysis::Results;
use measure::record::{Measurement, Profiles, Run};

pub use chart::Chart;
pub use compare::{Compared, compare};
pub use files::{results_csv, results_json};
pub use history::{history_json, history_text};
pub use junit::{gate_lines, junit};

use crate::chart::ChartError;
use crate::table::Table;

/// A report: what terminals, Markdown and pages show in their own ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    title: String,
    lead: Vec<String>,
    sections: Vec<Section>,
}

/// A part of a report that links can name.
#[derive(Debug, Clone, PartialEq)]
struct Section {
    id: String,
    title: String,
    blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq)]
enum Block {
    Text(String),
    List(Vec<String>),
    /// What must not be overlooked.
    Warnings(Vec<String>),
    Table(String, Table),
    Chart(Chart),
    Flames(FlameGraph),
    /// What only those want who look closely; terminals leave it out.
    Details(String, Vec<Block>),
    /// What is too long for texts: only the page shows it.
    PageOnly(Vec<Block>),
}

/// A flame graph, or a difference of two, as an SVG with a script: it is zoomed and searched.
#[derive(Debug, Clone, PartialEq)]
pub struct FlameGraph {
    id: String,
    title: String,
    description: String,
    svg: String,
}

impl FlameGraph {
    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.id)
    }

    /// Its file.
    pub fn to_svg(&self) -> &str {
        &self.svg
    }
}

impl Report {
    /// Puts together what a run found.
    ///
    /// # Errors
    /// When a chart cannot be drawn.
    pub fn new(run: &Run, measurements: &[Measurement], results: &Results) -> Result<Report, ChartError> {
        sections::report(run, measurements, results)
    }

    /// Adds where servers spent their processor time, in front of how the run was made.
    ///
    /// # Errors
    /// When a flame graph cannot be drawn.
    pub fn with_profiles(mut self, profiles: &Profiles) -> io::Result<Report> {
        let method = self.sections.iter().position(|section| section.id == "method");
        self.sections.insert(method.unwrap_or(self.sections.len()), profiles::section(profiles)?);
        Ok(self)
    }

    /// The flame graphs that texts link.
    pub fn flame_graphs(&self) -> Vec<&FlameGraph> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.filter_map(|block| if let Block::Flames(graph) = block { Some(graph) } else { None }).collect()
    }

    /// Shows it for a terminal, without charts and details.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.title, "=".repeat(self.title.chars().count()));
        self.lead.iter().for_each(|line| push_line(&mut text, line));
        for section in &self.sections {
            let mut body = String::new();
            section.blocks.iter().for_each(|block| push_text(&mut body, block));
            if !body.is_empty() {
                text.push_str(&format!("\n{}\n{}\n{body}", section.title, "-".repeat(section.title.chars().count())));
            }
        }
        text
    }

    /// Shows it in Markdown, with links to the files of its charts beside it.
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "# {}\n\n{}\n",
            plain(&self.title),
            self.lead.iter().map(|line| plain(line) + "\n\n").collect::<String>().trim_end()
        );
        for section in &self.sections {
            text.push_str(&format!("\n## {}\n\n", plain(&section.title)));
            section.blocks.iter().for_each(|block| push_markdown(&mut text, block));
        }
        text.trim_end().to_owned() + "\n"
    }

    /// Shows it as one page that needs no network.
    pub fn to_html(&self) -> String {
        page::page(self)
    }

    /// The charts that texts link, in the order of the report.
    pub fn charts(&self) -> Vec<&Chart> {
        let mut found = Vec::new();
        self.sections.iter().for_each(|section| collect(&section.blocks, &mut found));
        found
    }
}

fn collect<'a>(blocks: &'a [Block], found: &mut Vec<&'a Chart>) {
    for block in blocks {
        match block {
            Block::Chart(chart) => found.push(chart),
            Block::Details(_, blocks) => collect(blocks, found),
            Block::Text(_)
            | Block::List(_)
            | Block::Warnings(_)
            | Block::Table(..)
            | Block::Flames(_)
            | Block::PageOnly(_) => (),
        }
    }
}

/// Text from a record that a terminal shows: control characters are escaped.
fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { letter.escape_default().to_string() } else { letter.into() })
        .collect()
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(&printable(line));
    text.push('\n');
}

fn push_text(text: &mut String, block: &Block) {
    match block {
        Block::Text(line) => push_line(text, line),
        Block::List(lines) => lines.iter().for_each(|line| push_line(text, &format!("- {line}"))),
        Block::Warnings(lines) => lines.iter().for_each(|line| push_line(text, &format!("! {line}"))),
        Block::Table(caption, table) => {
            push_line(text, caption);
            text.push_str(&table.to_text());
        }
        Block::Chart(_) | Block::Flames(_) | Block::Details(..) | Block::PageOnly(_) => (),
    }
}

/// Text that Markdown shows as it is.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for letter in printable(text).chars() {
        if "\\`*_[]<>#|".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

fn push_markdown(text: &mut String, block: &Block) {
    match block {
        Block::Text(line) => text.push_str(&format!("{}\n\n", plain(line))),
        Block::List(lines) => {
            lines.iter().for_each(|line| text.push_str(&format!("- {}\n", plain(line))));
            text.push('\n');
        }
        Block::Warnings(lines) => {
            lines.iter().for_each(|line| text.push_str(&format!("> **Warning:** {}\n>\n", plain(line))));
            text.push('\n');
        }
        Block::Table(caption, table) => text.push_str(&format!("{}\n\n{}\n", plain(caption), table.to_markdown())),
        Block::Chart(chart) => text.push_str(&format!("![{}]({})\n\n", plain(&chart.title), chart.file_name())),
        Block::Flames(graph) => {
            text.push_str(&format!("[{}]({})\n\n", plain(&graph.title), graph.file_name()));
        }
        Block::Details(summary, blocks) => {
            let summary = crate::html::escaped(summary);
            text.push_str(&format!("<details><summary>{summary}</summary>\n\n"));
            blocks.iter().for_each(|block| push_markdown(text, block));
            text.push_str("</details>\n\n");
        }
        Block::PageOnly(_) => text.push_str("All passes are in `report.html` and `samples.jsonl`.\n\n"),
    }
}
