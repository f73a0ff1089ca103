//! Ratios as points with their intervals, a line each, on a logarithmic axis.

use measure::{Estimate, Interval};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::chart::{
    Area, Chart, Drawn, GRID, Head, Hover, INK, Series, TEXT, WIDTH, colour, draw_mark, lines_of, text,
};
use super::words;
use crate::chart::ChartError;

/// Ratios of the same levels.
pub(super) struct Group {
    /// The levels; empty if there is one group only.
    pub(super) name: String,
    pub(super) points: Vec<Point>,
}

/// A ratio.
pub(super) struct Point {
    pub(super) series: Series,
    pub(super) ratio: Estimate,
    /// The ratio of each pair of passes.
    pub(super) pairs: Vec<f64>,
    /// What the ratio is of, such as `10 pairs`.
    pub(super) basis: String,
    /// That of the source.
    pub(super) document: Option<f64>,
}

/// The height of a point's line, and of the space between groups.
const LINE: i32 = 20;
const GAP: i32 = 10;
/// The space at the sides and below.
const SIDE: i32 = 28;
const BELOW: i32 = 40;
/// The most numbers on the axis, and the least room from one to the next.
const MAX_TICKS: usize = 8;
const TICK_ROOM: i32 = 56;

/// Draws groups of ratios.
pub(super) fn chart(head: Head, groups: &[Group]) -> Result<Chart, ChartError> {
    let mut legend: Vec<Series> = Vec::new();
    for point in groups.iter().flat_map(|group| &group.points) {
        if !legend.contains(&point.series) {
            legend.push(point.series.clone());
        }
    }
    let height: i32 = groups.iter().map(Group::height).sum::<i32>() + BELOW;
    Chart::new(head, height as u32, &legend, |area, hovers| draw(area, groups, hovers))
}

impl Group {
    fn height(&self) -> i32 {
        lines_of(&self.name).len() as i32 * TEXT as i32 + self.points.len() as i32 * LINE + GAP
    }
}

fn draw(area: &Area<'_>, groups: &[Group], hovers: &mut Vec<Hover>) -> Drawn {
    let axis = Axis::of(groups);
    let ticks = axis.ticks();
    let mut y = GAP / 2;
    for group in groups {
        for line in lines_of(&group.name) {
            let name = Text::new(line, (6, y + TEXT as i32 / 2), text(HPos::Left));
            area.draw(&name).map_err(|error| error.to_string())?;
            y += TEXT as i32;
        }
        axis.draw_grid(area, &ticks, [y, y + group.points.len() as i32 * LINE])?;
        for point in &group.points {
            draw_point(area, &axis, point, y + LINE / 2)?;
            hovers.push(Hover { at: (axis.x_of(point.ratio.value), y + LINE / 2), text: point.words(&group.name) });
            y += LINE;
        }
        y += GAP;
    }
    for (ratio, name) in &ticks {
        write(area, name.clone(), (axis.x_of(*ratio), y + 6))?;
    }
    write(area, "ratio, logarithmic".to_owned(), (WIDTH as i32 / 2, y + 24))
}

impl Point {
    fn words(&self, group: &str) -> String {
        let place = if group.is_empty() { String::new() } else { format!(" · {group}") };
        let document = self.document.map(|ratio| format!("; the source has {} %", words::percent(ratio)));
        format!(
            "{}{place}: {} %, {}{}",
            self.series.name,
            words::percent_estimate(self.ratio),
            self.basis,
            document.unwrap_or_default()
        )
    }
}

/// Ratios along the width of a chart.
struct Axis {
    range: Interval,
}

impl Axis {
    /// An axis with room for all intervals and the source's ratios.
    fn of(groups: &[Group]) -> Axis {
        let points = || groups.iter().flat_map(|group| &group.points);
        let ends = points().flat_map(|point| [point.ratio.interval.low, point.ratio.interval.high, point.ratio.value]);
        let all = ends.chain(points().filter_map(|point| point.document)).chain([0.98, 1.02]);
        let all = all.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let (low, high) = all.fold((1.0_f64, 1.0_f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
        let room = (high / low).powf(0.05);
        Axis { range: Interval { low: low / room, high: high * room } }
    }

    /// Where a ratio is. One beyond the axis is at its end.
    fn x_of(&self, ratio: f64) -> i32 {
        let Interval { low, high } = self.range;
        let share = (ratio / low).ln() / (high / low).ln();
        SIDE + (share.clamp(0.0, 1.0) * f64::from(WIDTH as i32 - 2 * SIDE)).round() as i32
    }

    /// The ratios with numbers, and these: percents where all ratios are near to 1.
    fn ticks(&self) -> Vec<(f64, String)> {
        let Interval { low, high } = self.range;
        let times = |steps: &[f64]| -> Vec<f64> {
            let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
            let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
            all.filter(|ratio| (low..=high).contains(ratio)).collect()
        };
        let fine = times(&[1.0, 2.0, 5.0]);
        if fine.len() > 2 {
            let ratios = if fine.len() > MAX_TICKS { times(&[1.0]) } else { fine };
            return ratios.into_iter().map(|ratio| (ratio, format!("{}×", words::shortest(ratio)))).collect();
        }
        let percents = |step: f64| -> Vec<f64> {
            let steps = |ratio: f64| (ratio - 1.0) * 100.0 / step;
            let range = (steps(low) - 1e-6).ceil() as i32..=(steps(high) + 1e-6).floor() as i32;
            range.map(|number| f64::from(number) * step).collect()
        };
        let steps = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
        let x_of = |percent: f64| self.x_of(1.0 + percent / 100.0);
        let fits = |ticks: &Vec<f64>| {
            let has_room = |pair: &[f64]| x_of(pair[1]) - x_of(pair[0]) >= TICK_ROOM;
            ticks.len() <= MAX_TICKS && ticks.windows(2).all(has_room)
        };
        let chosen = steps.into_iter().map(percents).find(fits).unwrap_or_default();
        let sign = |percent: f64| if percent > 0.0 { "+" } else { "" };
        let named = |percent| (1.0 + percent / 100.0, format!("{}{} %", sign(percent), words::shortest(percent)));
        chosen.into_iter().map(named).collect()
    }

    /// Draws the lines of the numbers behind points.
    fn draw_grid(&self, area: &Area<'_>, ticks: &[(f64, String)], [top, foot]: [i32; 2]) -> Drawn {
        for (ratio, _) in ticks {
            let x = self.x_of(*ratio);
            line(area, [(x, top), (x, foot)], &GRID.mix(0.35), 1)?;
        }
        let one = self.x_of(1.0);
        line(area, [(one, top), (one, foot)], &INK, 1)
    }
}

fn draw_point(area: &Area<'_>, axis: &Axis, point: &Point, y: i32) -> Drawn {
    for pair in &point.pairs {
        let dot = Circle::new((axis.x_of(*pair), y), 2, colour(point.series.sign).mix(0.35).filled());
        area.draw(&dot).map_err(|error| error.to_string())?;
    }
    let [low, high] = [point.ratio.interval.low, point.ratio.interval.high].map(|ratio| axis.x_of(ratio));
    line(area, [(low, y), (high, y)], &colour(point.series.sign), 2)?;
    for end in [low, high] {
        line(area, [(end, y - 4), (end, y + 4)], &colour(point.series.sign), 2)?;
    }
    draw_mark(area, (axis.x_of(point.ratio.value), y), point.series.sign, 1.0)?;
    if let Some(document) = point.document {
        let x = axis.x_of(document);
        let diamond = [(x, y - 7), (x + 7, y), (x, y + 7), (x - 7, y), (x, y - 7)];
        area.draw(&PathElement::new(diamond, INK.stroke_width(2))).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn line(area: &Area<'_>, ends: [(i32, i32); 2], colour: &impl Color, width: u32) -> Drawn {
    let drawn = area.draw(&PathElement::new(ends, colour.stroke_width(width)));
    drawn.map_err(|error| error.to_string().into())
}

fn write(area: &Area<'_>, words: String, middle: (i32, i32)) -> Drawn {
    area.draw(&Text::new(words, middle, text(HPos::Center))).map_err(|error| error.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(low: f64, high: f64) -> Vec<String> {
        Axis { range: Interval { low, high } }.ticks().into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn axis_has_numbers_that_people_know() {
        assert_eq!(ticks(0.3, 7.0), ["0.5×", "1×", "2×", "5×"]);
        assert_eq!(ticks(0.96, 1.04), ["-4 %", "-2 %", "0 %", "+2 %", "+4 %"]);
        assert_eq!(ticks(0.9, 1.35), ["-10 %", "0 %", "+10 %", "+20 %", "+30 %"]);
        assert_eq!(ticks(0.8, 90.0), ["1×", "2×", "5×", "10×", "20×", "50×"]);
        // Those of 50 % would run into each other at the right.
        assert_eq!(ticks(0.97, 4.6), ["0 %", "+100 %", "+200 %", "+300 %"]);
    }

    #[test]
    fn ratio_beyond_the_axis_is_at_its_end() {
        let axis = Axis { range: Interval { low: 0.5, high: 2.0 } };
        assert_eq!([0.1, 0.5, 1.0, 2.0, 9.0].map(|ratio| axis.x_of(ratio)), [28, 28, 240, 452, 452]);
    }
}
