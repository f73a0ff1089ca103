//! The four kinds of charts of an experiment.

use std::collections::BTreeMap;
use std::ops::Range;

use measure::analysis::{LatencyCurve, Results, Row};
use measure::record::{CurveKind, DocumentRatio, Levels, Measurement, Run, TableKind};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::chart::{Area, Chart, Drawn, GRID, Head, INK, TEXT, colour, draw_mark, lines_of, text, width_of};
use super::words;
use crate::chart::ChartError;

/// The height of a bar and of the space between groups of bars.
const BAR: u32 = 18;
const GAP: u32 = 10;
/// The height of charts that are not of bars.
const PLOT: u32 = 300;
/// The space below for numbers and their title, and beside for numbers.
const BELOW: u32 = 52;
const BESIDE: u32 = 72;
/// The most pixels for the names of bars.
const MAX_NAMES: f64 = 150.0;
/// From which ratio on bars are on a logarithmic scale.
const LARGE_RATIO: f64 = 10.0;

/// The ratios of a table as bars from 1, with their intervals and the document's ratios.
pub(super) fn ratios(run: &Run, table: &TableKind, rows: &[Row], id: String) -> Result<Option<Chart>, ChartError> {
    let found: Vec<&Row> = rows.iter().filter(|row| row.comparison.is_ok()).collect();
    if found.is_empty() {
        return Ok(None);
    }
    let candidates = distinct(found.iter().map(|row| row.candidate()));
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in found {
        let name = words::levels(&run.design, &row.levels, &table.factor);
        match groups.last_mut() {
            Some((last, rows)) if *last == name => rows.push(row),
            _ => groups.push((name, vec![row])),
        }
    }
    let bars: u32 = groups.iter().map(|(name, rows)| group_height(name, rows)).sum();
    let height = bars + groups.len() as u32 * GAP + BELOW + 10;
    let has_document = rows.iter().any(|row| compared(row).is_some());
    let head = Head {
        id,
        title: format!("{}: ratio to “{}”", table.title, table.baseline),
        description: format!(
            "Bars of {} for each combination of levels, with intervals of {} %{}. The table has the same figures.",
            table.figure,
            words::shortest(run.precision.map_or(95.0, |precision| precision.level * 100.0)),
            if has_document { "; diamonds are the document's ratios" } else { "" }
        ),
    };
    Chart::new(head, height, &candidates, |area| draw_ratios(area, &groups, &candidates)).map(Some)
}

/// The height of a group of bars, whose name stands beside them in as many lines as it takes.
fn group_height(name: &str, rows: &[&Row]) -> u32 {
    (rows.len() as u32 * BAR).max(lines_of(name, MAX_NAMES).len() as u32 * TEXT)
}

fn draw_ratios(area: &Area<'_>, groups: &[(String, Vec<&Row>)], candidates: &[&str]) -> Drawn {
    let names = groups.iter().map(|(name, _)| width_of(name)).fold(40.0, f64::max).min(MAX_NAMES) as u32 + 16;
    let range = ratio_range(groups);
    let is_large = range.end / range.start > LARGE_RATIO;
    let (_, height) = area.dim_in_pixel();
    let mut builder = ChartBuilder::on(area);
    builder.margin_right(16).margin_top(6).x_label_area_size(BELOW).y_label_area_size(names);
    let pixels = 0.0..f64::from(height - BELOW - 6);
    if is_large {
        let axis = decades(range.start, range.end).log_scale();
        let mut chart = builder.build_cartesian_2d(axis, pixels)?;
        mesh(&mut chart, "ratio, logarithmic", "", |x| format!("{}×", words::shortest(*x)), |_| String::new())?;
        draw_bars(area, groups, candidates, |x, y| chart.backend_coord(&(x, y)))
    } else {
        let mut chart = builder.build_cartesian_2d(range, pixels)?;
        mesh(&mut chart, "difference, %", "", |x| format!("{:+.0}", (x - 1.0) * 100.0), |_| String::new())?;
        draw_bars(area, groups, candidates, |x, y| chart.backend_coord(&(x, y)))
    }
}

fn ratio_range(groups: &[(String, Vec<&Row>)]) -> Range<f64> {
    let mut ends = vec![0.98, 1.02];
    for row in groups.iter().flat_map(|(_, rows)| rows) {
        ends.extend(row.comparison.iter().flat_map(|found| [found.ratio.interval.low, found.ratio.interval.high]));
        ends.extend(compared(row).map(DocumentRatio::ratio));
    }
    let ends = ends.into_iter().filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    let (low, high) = ends.fold((1.0_f64, 1.0_f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    let room = (high / low).powf(0.05);
    low / room..high * room
}

fn draw_bars(
    area: &Area<'_>,
    groups: &[(String, Vec<&Row>)],
    candidates: &[&str],
    at: impl Fn(f64, f64) -> (i32, i32),
) -> Drawn {
    let (left, top) = area.get_base_pixel();
    let x_of = |ratio: f64| at(ratio, 0.0).0 - left;
    let mut y = at(1.0, f64::from(area.dim_in_pixel().1 - BELOW - 6)).1 - top;
    let foot = at(1.0, 0.0).1 - top;
    area.draw(&PathElement::new([(x_of(1.0), y), (x_of(1.0), foot)], INK.stroke_width(1)))
        .map_err(|error| error.to_string())?;
    for (name, rows) in groups {
        y += GAP as i32 / 2;
        let (height, lines) = (group_height(name, rows) as i32, lines_of(name, MAX_NAMES));
        let mut middle = y + (height - lines.len() as i32 * TEXT as i32 + TEXT as i32) / 2;
        for line in lines {
            area.draw(&Text::new(line, (6, middle), text(HPos::Left))).map_err(|error| error.to_string())?;
            middle += TEXT as i32;
        }
        let mut bar = y + (height - (rows.len() as u32 * BAR) as i32) / 2;
        for row in rows {
            let series = candidates.iter().position(|one| *one == row.candidate()).unwrap_or(0);
            draw_bar(area, row, series, bar, &x_of)?;
            bar += BAR as i32;
        }
        y += height + GAP as i32 / 2;
    }
    Ok(())
}

/// The document's ratio, if it is compared with ours.
fn compared(row: &Row) -> Option<&DocumentRatio> {
    row.document.as_ref().filter(|document| document.not_compared.is_none())
}

fn draw_bar(area: &Area<'_>, row: &Row, series: usize, y: i32, x_of: &impl Fn(f64) -> i32) -> Drawn {
    let Ok(found) = &row.comparison else { return Ok(()) };
    let (one, value) = (x_of(1.0), x_of(found.ratio.value));
    let middle = y + BAR as i32 / 2;
    let bar = Rectangle::new([(one.min(value), y + 2), (one.max(value), y + BAR as i32 - 2)], colour(series).filled());
    area.draw(&bar).map_err(|error| error.to_string())?;
    let (low, high) = (x_of(found.ratio.interval.low), x_of(found.ratio.interval.high));
    for [from, to] in [
        [(low, middle), (high, middle)],
        [(low, middle - 4), (low, middle + 4)],
        [(high, middle - 4), (high, middle + 4)],
    ] {
        area.draw(&PathElement::new([from, to], INK.stroke_width(2))).map_err(|error| error.to_string())?;
    }
    if let Some(document) = compared(row) {
        let x = x_of(document.ratio());
        let diamond = [(x, middle - 6), (x + 6, middle), (x, middle + 6), (x - 6, middle), (x, middle - 6)];
        area.draw(&PathElement::new(diamond, INK.stroke_width(2))).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The points of a line that is being gathered.
type NamedPoints = (String, Vec<(f64, f64)>);

/// A line of a chart.
struct Line<'a> {
    name: &'a str,
    points: Vec<(f64, f64)>,
}

/// The latency at percentages, for each contender at one combination of the other levels.
pub(super) fn latency(run: &Run, curves: &[&LatencyCurve], id: String) -> Result<Option<Chart>, ChartError> {
    let contenders = &run.design.contenders;
    let line = |curve: &&&LatencyCurve| {
        let points = curve.percentiles.iter().filter(|at| at.us > 0.0 && at.percent < 100.0);
        let points = points.map(|at| (nines(at.percent), at.us)).collect();
        (curve.levels.get(contenders).map_or("all", String::as_str).to_owned(), points)
    };
    let lines: Vec<NamedPoints> = curves.iter().map(|curve| line(&curve)).collect();
    let lines: Vec<Line<'_>> = lines.iter().map(|(name, points)| Line { name, points: points.clone() }).collect();
    let Some(first) = curves.first() else { return Ok(None) };
    let place = words::levels(&run.design, &first.levels, contenders);
    let head = Head {
        id,
        title: format!("Latency: {place}"),
        description: format!(
            "The latency that a share of operations stays within, at {place}, on a logarithmic scale."
        ),
    };
    let (x, y) = ("share of operations, %", "latency, µs");
    let nine = |x: &f64| if (x - x.round()).abs() < 1e-6 { percent_of(*x) } else { String::new() };
    plot(head, &lines, &Axes { x, y, is_log: true, x_from: Some(0.0), is_joined: true }, nine)
}

/// How many nines a percentage has: 90 % one, 99 % two.
fn nines(percent: f64) -> f64 {
    -(1.0 - percent / 100.0).log10()
}

fn percent_of(nines: f64) -> String {
    words::shortest(100.0 * (1.0 - 10_f64.powf(-nines)))
}

/// One figure against another one, for each contender at one combination of the levels that are neither raised nor
/// compared.
pub(super) fn curves(run: &Run, results: &Results, kind: &CurveKind, id: &str) -> Result<Vec<Chart>, ChartError> {
    let median = |levels: &Levels, figure: &str| {
        let cell = results.cells.iter().find(|cell| cell.levels == *levels && cell.figure == figure)?;
        cell.samples.as_ref().ok().map(measure::Samples::median)
    };
    let mut places: Vec<(String, Vec<NamedPoints>)> = Vec::new();
    for cell in results.cells.iter().filter(|cell| cell.figure == kind.x) {
        let (Some(x), Some(y)) = (median(&cell.levels, &kind.x), median(&cell.levels, &kind.y)) else { continue };
        let mut others = cell.levels.clone();
        let contender = others.remove(&run.design.contenders).unwrap_or_default();
        others.remove(&kind.factor);
        let lines = entry(&mut places, words::levels(&run.design, &others, ""));
        entry(lines, contender).push((x, y));
    }
    let (x, y) = (words::with_unit(&run.design, &kind.x), words::with_unit(&run.design, &kind.y));
    let mut charts = Vec::new();
    for (number, (place, lines)) in places.iter().enumerate() {
        let lines: Vec<Line<'_>> = lines.iter().map(|(name, points)| Line { name, points: points.clone() }).collect();
        let head = Head {
            id: format!("{id}-{}", number + 1),
            title: format!("{}: {place}", kind.title),
            description: format!(
                "Medians of {} against {} at {place}, joined by rising {}.",
                kind.y, kind.x, kind.factor
            ),
        };
        let axes = Axes { x: &x, y: &y, is_log: true, x_from: Some(0.0), is_joined: true };
        charts.extend(plot(head, &lines, &axes, |x| words::figure_short(*x))?);
    }
    Ok(charts)
}

fn entry<T: Default>(list: &mut Vec<(String, T)>, name: String) -> &mut T {
    let place = list.iter().position(|(one, _)| *one == name).unwrap_or_else(|| {
        list.push((name, T::default()));
        list.len() - 1
    });
    &mut list[place].1
}

/// A figure over the course of the run, in percent of the median of its combination.
pub(super) fn course(
    run: &Run,
    results: &Results,
    measurements: &[Measurement],
    figure: &str,
    id: String,
) -> Result<Option<Chart>, ChartError> {
    let cells = results.cells.iter().filter(|cell| cell.figure == figure);
    let medians = cells.filter_map(|cell| Some((&cell.levels, cell.samples.as_ref().ok()?.median())));
    let medians: BTreeMap<&Levels, f64> = medians.collect();
    let mut lines: Vec<NamedPoints> = Vec::new();
    for pass in measurements.iter().filter(|pass| !pass.is_repeated && pass.failure.is_none()) {
        let (Some(value), Some(median)) = (pass.figures.get(figure), medians.get(&pass.levels)) else { continue };
        let contender = pass.levels.get(&run.design.contenders).cloned().unwrap_or_default();
        entry(&mut lines, contender).push((f64::from(pass.place.position), 100.0 * (value / median - 1.0)));
    }
    lines.sort_by_key(|(name, _)| {
        let factor = run.design.factors.iter().find(|factor| factor.name == run.design.contenders);
        factor.and_then(|factor| factor.levels.iter().position(|level| level == name))
    });
    let lines: Vec<Line<'_>> = lines.iter().map(|(name, points)| Line { name, points: points.clone() }).collect();
    let head = Head {
        id,
        title: format!("Course of {figure}"),
        description: format!(
            "Each pass's {figure} against its place in the run, in percent off the median of its combination."
        ),
    };
    let axes = Axes { x: "pass", y: "off the median, %", is_log: false, x_from: Some(0.0), is_joined: false };
    plot(head, &lines, &axes, |x| format!("{x:.0}"))
}

/// How lines are drawn.
struct Axes<'a> {
    x: &'a str,
    y: &'a str,
    /// Whether the upward axis is logarithmic.
    is_log: bool,
    x_from: Option<f64>,
    is_joined: bool,
}

fn plot(
    head: Head,
    lines: &[Line<'_>],
    axes: &Axes<'_>,
    x_text: impl Fn(&f64) -> String,
) -> Result<Option<Chart>, ChartError> {
    let points = || lines.iter().flat_map(|line| &line.points).filter(|(x, y)| x.is_finite() && y.is_finite());
    let is_usable = points().next().is_some() && (!axes.is_log || points().all(|(_, y)| *y > 0.0));
    if !is_usable {
        return Ok(None);
    }
    let x = range(points().map(|(x, _)| *x).chain(axes.x_from), false);
    let y = range(points().map(|(_, y)| *y), axes.is_log);
    let names: Vec<&str> = lines.iter().map(|line| line.name).collect();
    let draw = |area: &Area<'_>| -> Drawn {
        let mut builder = ChartBuilder::on(area);
        builder.margin_right(24).margin_top(8).x_label_area_size(BELOW).y_label_area_size(BESIDE);
        let y_text = |y: &f64| words::figure_short(*y);
        if axes.is_log {
            let mut chart = builder.build_cartesian_2d(x.clone(), y.clone().log_scale())?;
            mesh(&mut chart, axes.x, axes.y, &x_text, y_text)?;
            draw_lines(area, lines, axes.is_joined, |x, y| chart.backend_coord(&(x, y)))
        } else {
            let mut chart = builder.build_cartesian_2d(x.clone(), y.clone())?;
            mesh(&mut chart, axes.x, axes.y, &x_text, y_text)?;
            draw_lines(area, lines, axes.is_joined, |x, y| chart.backend_coord(&(x, y)))
        }
    };
    Chart::new(head, PLOT, &names, draw).map(Some)
}

/// Whole decades around two values, which have a number at either end.
fn decades(low: f64, high: f64) -> Range<f64> {
    let (from, to) = (low.log10().floor(), high.log10().ceil());
    10_f64.powf(from)..10_f64.powf(to.max(from + 1.0))
}

/// From the least to the greatest value, with some room.
fn range(values: impl Iterator<Item = f64>, is_log: bool) -> Range<f64> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if is_log {
        return decades(low, high);
    }
    let room = if high > low { (high - low) * 0.04 } else { high.abs().max(1.0) * 0.1 };
    (if low == 0.0 { low } else { low - room })..high + room
}

fn draw_lines(area: &Area<'_>, lines: &[Line<'_>], is_joined: bool, at: impl Fn(f64, f64) -> (i32, i32)) -> Drawn {
    let (left, top) = area.get_base_pixel();
    for (series, line) in lines.iter().enumerate() {
        let pixel = |&(x, y): &(f64, f64)| {
            let (x, y) = at(x, y);
            (x - left, y - top)
        };
        let points: Vec<(i32, i32)> =
            line.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).map(pixel).collect();
        if is_joined {
            area.draw(&PathElement::new(points.clone(), colour(series).stroke_width(2)))
                .map_err(|error| error.to_string())?;
        }
        let opacity = if is_joined { 1.0 } else { 0.7 };
        points.into_iter().try_for_each(|point| draw_mark(area, point, series, opacity))?;
    }
    Ok(())
}

fn mesh<'a, X, Y>(
    chart: &mut ChartContext<'a, SVGBackend<'_>, Cartesian2d<X, Y>>,
    x_title: &str,
    y_title: &str,
    x_text: impl Fn(&f64) -> String,
    y_text: impl Fn(&f64) -> String,
) -> Drawn
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(INK).bold_line_style(GRID.mix(0.35)).light_line_style(TRANSPARENT).label_style(text(HPos::Center));
    mesh.axis_desc_style(text(HPos::Center)).x_desc(x_title).x_labels(6).x_label_formatter(&x_text);
    if y_title.is_empty() {
        mesh.disable_y_mesh().disable_y_axis();
    }
    mesh.y_desc(y_title).y_labels(6).y_label_formatter(&y_text);
    mesh.draw().map_err(|error| error.to_string().into())
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    names.for_each(|name| {
        if !seen.contains(&name) {
            seen.push(name);
        }
    });
    seen
}
