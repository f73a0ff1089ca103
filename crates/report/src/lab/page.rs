//! The page: everything is in it, so that it can be sent by mail and read without a network.

use super::{Block, Chart, FlameGraph, Report, Section};
use crate::html::escaped;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn page(report: &Report) -> String {
    let title = escaped(&report.title);
    let link = |section: &Section| format!("<li><a href=\"#{}\">{}</a></li>\n", section.id, escaped(&section.title));
    let lead: String = report.lead.iter().map(|line| format!("<p>{}</p>\n", escaped(line))).collect();
    let links: String = report.sections.iter().map(link).collect();
    let sections: String = report.sections.iter().map(section).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n{lead}</header>\n\
         <nav aria-label=\"Contents\"><ul>\n{links}</ul></nav>\n<main>\n{sections}</main>\n<script>\n{SCRIPT}</script>\n\
         </body>\n</html>\n"
    )
}

fn section(section: &Section) -> String {
    let Section { id, title, blocks } = section;
    let title = escaped(title);
    let body = blocks_of(blocks);
    format!(
        "<section id=\"{id}\">\n<h2>{title} <a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to {title}\">#</a></h2>\n{body}</section>\n"
    )
}

/// Charts that follow one another share a grid.
fn blocks_of(blocks: &[Block]) -> String {
    let is_chart = |block: &Block| matches!(block, Block::Chart(_));
    let part = |part: &[Block]| {
        let body: String = part.iter().map(block).collect();
        if part.first().is_some_and(is_chart) { format!("<div class=\"charts\">\n{body}</div>\n") } else { body }
    };
    blocks.chunk_by(|one, next| is_chart(one) == is_chart(next)).map(part).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(line) => format!("<p>{}</p>\n", escaped(line)),
        Block::List(lines) => list("", lines),
        Block::Warnings(lines) => list(" class=\"warnings\"", lines),
        Block::Table(caption, table) => {
            let label = escaped(caption);
            format!(
                "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\">\n{}</div>\n",
                table.to_html(caption)
            )
        }
        Block::Chart(chart) => figure(chart),
        Block::Flames(graph) => flames(graph),
        Block::PageOnly(blocks) => blocks_of(blocks),
        Block::Details(summary, blocks) => {
            format!("<details>\n<summary>{}</summary>\n{}</details>\n", escaped(summary), blocks_of(blocks))
        }
    }
}

fn list(class: &str, lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    format!("<ul{class}>\n{lines}</ul>\n")
}

fn figure(chart: &Chart) -> String {
    let (id, title, description) = (&chart.id, escaped(&chart.title), escaped(&chart.description));
    format!(
        "<figure id=\"{id}\">\n<figcaption>{title} <a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to {title}\">#</a>\
         <small>{description}</small></figcaption>\n{}</figure>\n",
        chart.to_inline_svg()
    )
}

/// A graph in a document of its own: its styles and its script are not the page's.
fn flames(graph: &FlameGraph) -> String {
    let FlameGraph { id, title, description, svg } = graph;
    let (title, description, data) = (escaped(title), escaped(description), percent_encoded(svg));
    format!(
        "<figure id=\"{id}\" class=\"flames\">\n<figcaption>{title} <a class=\"anchor\" href=\"#{id}\" \
         aria-label=\"Link to {title}\">#</a><small>{description}</small></figcaption>\n\
         <iframe title=\"{title}\" loading=\"lazy\" style=\"height:{}px\" src=\"data:image/svg+xml,{data}\"></iframe>\n\
         </figure>\n",
        height(svg)
    )
}

/// The height that an SVG says it has, in pixels.
fn height(svg: &str) -> u32 {
    const USUAL: u32 = 400;
    let value = svg.split_once(" height=\"").and_then(|(_, rest)| rest.split('"').next()?.parse().ok());
    value.unwrap_or(USUAL)
}

/// Text as the data of a URL in an attribute (RFC 3986 §2.1).
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 3 / 2);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => encoded.push(byte.into()),
            b' ' | b'-' | b'_' | b'.' | b',' | b':' | b';' | b'=' | b'(' | b')' | b'/' | b'+' => {
                encoded.push(byte.into())
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
