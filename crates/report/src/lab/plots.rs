//! The four kinds of charts of an experiment.

use std::collections::BTreeMap;
use std::ops::Range;

use measure::analysis::{LatencyCurve, Results, Row};
use measure::record::{CurveKind, Design, DocumentRatio, Factor, Levels, Measurement, Run, TableKind};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::chart::{Area, Chart, Drawn, GRID, Head, Hover, INK, Series, colour, draw_mark, text};
use super::forest::{self, Group, Point};
use super::words;
use crate::chart::ChartError;

/// The height of charts of lines.
const PLOT: u32 = 300;
/// The space below for numbers and their title, and beside for numbers.
const BELOW: u32 = 52;
const BESIDE: u32 = 72;

/// The ratios of a table with their intervals, pairs and the source's ratios.
pub(super) fn ratios(run: &Run, table: &TableKind, rows: &[Row], id: String) -> Result<Option<Chart>, ChartError> {
    let factors = words::varying_factors(&run.design, &table.factor, rows);
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let Some(point) = point(&run.design, row) else { continue };
        let name = words::named_levels(&row.levels, &factors);
        match groups.last_mut() {
            Some(last) if last.name == name => last.points.push(point),
            _ => groups.push(Group { name, points: vec![point] }),
        }
    }
    if groups.is_empty() {
        return Ok(None);
    }
    let has_document = rows.iter().any(|row| compared(row).is_some());
    let head = Head {
        id,
        title: format!("{}: ratio to “{}”", table.title, table.baseline),
        description: format!(
            "Ratios of {} with intervals of {} %; small dots are pairs of passes{}. The table has the same figures.",
            table.figure,
            words::shortest(run.precision.map_or(95.0, |precision| precision.level * 100.0)),
            if has_document { "; diamonds are the document's ratios" } else { "" }
        ),
    };
    forest::chart(head, &groups).map(Some)
}

fn point(design: &Design, row: &Row) -> Option<Point> {
    let found = row.comparison.as_ref().ok()?;
    let series = Series { name: row.candidate().to_owned(), sign: sign(design, &row.factor, row.candidate()) };
    let (pairs, basis) = (row.pairs.clone(), words::count(row.pairs.len(), "pair", "pairs"));
    Some(Point { series, ratio: found.ratio, pairs, basis, document: compared(row).map(DocumentRatio::ratio) })
}

/// The sign of a level of a factor: the same in all charts of a report, and another one for each level.
pub(super) fn sign(design: &Design, factor: &str, level: &str) -> usize {
    let is_contenders = |factor: &&Factor| factor.name == design.contenders;
    let others = design.factors.iter().filter(|factor| !is_contenders(factor));
    let in_order = design.factors.iter().filter(is_contenders).chain(others);
    let mut all = in_order.flat_map(|factor| factor.levels.iter().map(move |level| (&factor.name, level)));
    all.position(|(one, name)| one == factor && name == level).unwrap_or(0)
}

/// The document's ratio, if it is compared with ours.
fn compared(row: &Row) -> Option<&DocumentRatio> {
    row.document.as_ref().filter(|document| document.not_compared.is_none())
}

/// The points of a line that is being gathered.
pub(super) type NamedPoints = (String, Vec<(f64, f64)>);

/// A line of a chart.
pub(super) struct Line {
    series: Series,
    points: Vec<(f64, f64)>,
}

/// Lines of contenders, in the order of the design.
pub(super) fn lines_of_contenders(design: &Design, lines: Vec<NamedPoints>) -> Vec<Line> {
    let line = |(name, points): NamedPoints| {
        let sign = sign(design, &design.contenders, &name);
        Line { series: Series { name, sign }, points }
    };
    let mut lines: Vec<Line> = lines.into_iter().map(line).collect();
    lines.sort_by_key(|line| line.series.sign);
    lines
}

/// The latency at percentages, for each contender at one combination of the other levels.
pub(super) fn latency(run: &Run, curves: &[&LatencyCurve], id: String) -> Result<Option<Chart>, ChartError> {
    let contenders = &run.design.contenders;
    let line = |curve: &&&LatencyCurve| {
        let points = curve.percentiles.iter().filter(|at| at.us > 0.0 && at.percent < 100.0);
        let points = points.map(|at| (nines(at.percent), at.us)).collect();
        (curve.levels.get(contenders).map_or("all", String::as_str).to_owned(), points)
    };
    let lines = lines_of_contenders(&run.design, curves.iter().map(|curve| line(&curve)).collect());
    let Some(first) = curves.first() else { return Ok(None) };
    let place = words::levels(&run.design, &first.levels, contenders);
    let head = Head {
        id,
        title: format!("Latency: {place}"),
        description: format!(
            "The latency that a share of operations stays within, at {place}, on a logarithmic scale."
        ),
    };
    let nine = |x: &f64| if (x - x.round()).abs() < 1e-6 { percent_of(*x) } else { String::new() };
    let said = |x: f64, y: f64| format!("{} % within {}", percent_of(x), words::latency(y));
    let axes = Axes {
        x: "share of operations, %",
        y: "latency",
        is_log: true,
        x_from: Some(0.0),
        is_joined: true,
        x_text: &nine,
        y_text: &|us| words::latency(*us),
        said: &said,
    };
    plot(head, &lines, &axes)
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
        let lines = lines_of_contenders(&run.design, lines.clone());
        let head = Head {
            id: format!("{id}-{}", number + 1),
            title: format!("{}: {place}", kind.title),
            description: format!(
                "Medians of {} against {} at {place}, joined by rising {}.",
                kind.y, kind.x, kind.factor
            ),
        };
        let axes = Axes {
            x: &x,
            y: &y,
            is_log: true,
            x_from: Some(0.0),
            is_joined: true,
            x_text: &|x| words::figure_short(*x),
            y_text: &|y| words::figure_short(*y),
            said: &|at_x, at_y| format!("{x} {}, {y} {}", words::figure(at_x), words::figure(at_y)),
        };
        charts.extend(plot(head, &lines, &axes)?);
    }
    Ok(charts)
}

pub(super) fn entry<T: Default>(list: &mut Vec<(String, T)>, name: String) -> &mut T {
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
    let lines = lines_of_contenders(&run.design, lines);
    let head = Head {
        id,
        title: format!("Course of {figure}"),
        description: format!(
            "Each pass's {figure} against its place in the run, in percent off the median of its combination."
        ),
    };
    let axes = Axes {
        x: "pass",
        y: "off the median, %",
        is_log: false,
        x_from: Some(0.0),
        is_joined: false,
        x_text: &|x| format!("{x:.0}"),
        y_text: &|y| words::figure_short(*y),
        said: &|x, y| format!("pass {x:.0}: {y:+.1} % off the median"),
    };
    plot(head, &lines, &axes)
}

/// How lines are drawn.
pub(super) struct Axes<'a> {
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    /// Whether the upward axis is logarithmic.
    pub(super) is_log: bool,
    pub(super) x_from: Option<f64>,
    pub(super) is_joined: bool,
    pub(super) x_text: &'a dyn Fn(&f64) -> String,
    pub(super) y_text: &'a dyn Fn(&f64) -> String,
    /// What a point says of itself.
    pub(super) said: &'a dyn Fn(f64, f64) -> String,
}

pub(super) fn plot(head: Head, lines: &[Line], axes: &Axes<'_>) -> Result<Option<Chart>, ChartError> {
    let points = || lines.iter().flat_map(|line| &line.points).filter(|(x, y)| x.is_finite() && y.is_finite());
    let is_usable = points().next().is_some() && (!axes.is_log || points().all(|(_, y)| *y > 0.0));
    if !is_usable {
        return Ok(None);
    }
    let x = range(points().map(|(x, _)| *x).chain(axes.x_from), false);
    let y = range(points().map(|(_, y)| *y), axes.is_log);
    let legend: Vec<Series> = lines.iter().map(|line| line.series.clone()).collect();
    let draw = |area: &Area<'_>, hovers: &mut Vec<Hover>| -> Drawn {
        let mut builder = ChartBuilder::on(area);
        builder.margin_right(24).margin_top(8).x_label_area_size(BELOW).y_label_area_size(BESIDE);
        if axes.is_log {
            let mut chart = builder.build_cartesian_2d(x.clone(), y.clone().log_scale())?;
            mesh(&mut chart, axes)?;
            draw_lines(area, lines, axes, hovers, |x, y| chart.backend_coord(&(x, y)))
        } else {
            let mut chart = builder.build_cartesian_2d(x.clone(), y.clone())?;
            mesh(&mut chart, axes)?;
            draw_lines(area, lines, axes, hovers, |x, y| chart.backend_coord(&(x, y)))
        }
    };
    Chart::new(head, PLOT, &legend, draw).map(Some)
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

fn draw_lines(
    area: &Area<'_>,
    lines: &[Line],
    axes: &Axes<'_>,
    hovers: &mut Vec<Hover>,
    at: impl Fn(f64, f64) -> (i32, i32),
) -> Drawn {
    let (left, top) = area.get_base_pixel();
    for Line { series, points } in lines {
        let points: Vec<_> = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        let pixel = |&&(x, y): &&(f64, f64)| {
            let (x, y) = at(x, y);
            (x - left, y - top)
        };
        let pixels: Vec<(i32, i32)> = points.iter().map(pixel).collect();
        if axes.is_joined {
            let line = PathElement::new(pixels.clone(), colour(series.sign).stroke_width(2));
            area.draw(&line).map_err(|error| error.to_string())?;
        }
        let opacity = if axes.is_joined { 1.0 } else { 0.7 };
        for (&&(x, y), at) in points.iter().zip(pixels) {
            draw_mark(area, at, series.sign, opacity)?;
            hovers.push(Hover { at, text: format!("{}: {}", series.name, (axes.said)(x, y)) });
        }
    }
    Ok(())
}

fn mesh<'a, X, Y>(chart: &mut ChartContext<'a, SVGBackend<'_>, Cartesian2d<X, Y>>, axes: &Axes<'_>) -> Drawn
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(INK).bold_line_style(GRID.mix(0.35)).light_line_style(TRANSPARENT).label_style(text(HPos::Center));
    mesh.axis_desc_style(text(HPos::Center)).x_desc(axes.x).x_labels(6).x_label_formatter(&axes.x_text);
    mesh.y_desc(axes.y).y_labels(6).y_label_formatter(&axes.y_text);
    mesh.draw().map_err(|error| error.to_string().into())
}
