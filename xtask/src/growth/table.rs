//! The table as text: one part per dimension, one row per call, one column per size.

use super::bounds::{Bounds, Growth, Verdict};
use super::count::Counted;
use super::lines::Subject;

/// The widths of the columns.
const TITLE: usize = 46;
const CELL: usize = 17;

pub fn print_legend() {
    println!(
        "Instructions + system calls per call. Growth: instructions at the largest size over those at the smallest."
    );
}

/// Prints the rows of a dimension.
pub fn print(rows: &[(Subject, Counted)], bounds: &Bounds) {
    let counted = rows.iter().find(|(_, counted)| counted.is_ok()).or(rows.first());
    if let Some((subject, counted)) = counted {
        println!("\n{}", head(subject, counted));
    }
    rows.iter().for_each(|(subject, counted)| println!("{}", row(subject, counted, bounds)));
}

fn head(subject: &Subject, counted: &Counted) -> String {
    let sizes = counted.iter().flatten().map(|(size, _)| grouped(*size as u64));
    line(subject.dimension.title, sizes, "growth, bound")
}

fn row(subject: &Subject, counted: &Counted, bounds: &Bounds) -> String {
    let title = format!("  {}", subject.title());
    let costs = match counted {
        Ok(costs) => costs,
        Err(why) => return format!("{title:TITLE$} skipped: {why}"),
    };
    let cells = costs
        .iter()
        .map(|(_, cost)| format!("{} + {:.2}", grouped(cost.instructions.round() as u64), cost.system_calls.abs()));
    line(&title, cells, &result(subject, costs, bounds))
}

/// The growth to the largest size, its bound, and the verdict about all sizes.
fn result(subject: &Subject, costs: &[(usize, crate::callgrind::Cost)], bounds: &Bounds) -> String {
    let ([(_, smallest), rest @ ..], Some((largest, cost))) = (costs, costs.last()) else { return String::new() };
    let growth = Growth::between(smallest, cost);
    let judge = |(size, cost): &(usize, _)| bounds.judge(subject, *size, &Growth::between(smallest, cost));
    let bound = bounds.bound(subject, *largest);
    let bound = bound.map_or("none".to_owned(), |bound| format!("{:.2}", bound.ratio));
    let verdict = match rest.iter().map(judge).fold(Verdict::Within, Verdict::and) {
        Verdict::Within => "within",
        Verdict::Better => "less than recorded",
        Verdict::Worse => "GROWS",
        Verdict::Unknown => "NOT RECORDED",
    };
    let why = bounds.why(subject).map(|why| format!(": {why}")).unwrap_or_default();
    format!("{:.2}, {bound}: {verdict}{why}", growth.ratio)
}

fn line(title: &str, cells: impl Iterator<Item = String>, result: &str) -> String {
    let cells: String = cells.map(|cell| format!("{cell:>CELL$}")).collect();
    format!("{title:TITLE$}{cells}   {result}")
}

/// A number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_groups_of_three() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}
