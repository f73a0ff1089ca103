//! What a report has in it.

use std::collections::BTreeMap;

use measure::Samples;
use measure::analysis::{Aim, LatencyCurve, Reached, Results, Row, rings};
use measure::record::{BeforeAfter, Better, Disturbance, DocumentRatio, Measurement, Precision, Run, TableKind};

use super::words::{self, NONE};
use super::{Block, Report, Section, conclusion, over_time, plots};
use crate::chart::ChartError;
use crate::table::{Column, Table};
use crate::units;

pub(super) fn report(run: &Run, passes: &[Measurement], results: &Results) -> Result<Report, ChartError> {
    let mut sections = vec![found(run, results), warnings(run, results), goals(run, results)];
    let tables = run.design.tables.iter().zip(&results.tables).filter(|(_, rows)| !rows.is_empty());
    for (number, (table, rows)) in tables.enumerate() {
        sections.push(table_section(run, results, table, rows, number + 1)?);
    }
    sections.push(section("rings", "Ring identities", listed(&ring_lines(results))));
    sections.push(controls(run, results));
    sections.push(curves(run, results)?);
    sections.push(latencies(run, results)?);
    sections.push(course(run, passes, results)?);
    sections.push(section("figures", "All figures", vec![all_figures(run, results)]));
    sections.push(section("method", "Method", vec![Block::List(method(run, results))]));
    sections.push(set_up(run));
    let lists = [
        ("differences", "Differences to the source", &run.design.differences),
        ("skipped", "Skipped", &run.design.skipped),
    ];
    sections.extend(lists.map(|(id, title, lines)| section(id, title, listed(lines))));
    sections.retain(|section| !section.blocks.is_empty());
    Ok(Report { title: run.design.name.clone(), lead: lead(run), sections })
}

fn section(id: &str, title: &str, blocks: Vec<Block>) -> Section {
    Section { id: id.to_owned(), title: title.to_owned(), blocks }
}

fn listed(lines: &[String]) -> Vec<Block> {
    if lines.is_empty() { Vec::new() } else { vec![Block::List(lines.to_vec())] }
}

/// How far the ratios of tables contradict each other, for each two factors that several tables compare.
fn ring_lines(results: &Results) -> Vec<String> {
    let mut widest: BTreeMap<[String; 2], (usize, f64)> = BTreeMap::new();
    for ring in rings(results) {
        let mut factors = ring.factors;
        factors.sort();
        let (count, most) = widest.entry(factors).or_default();
        *count += 1;
        *most = most.max(ring.deviation.abs());
    }
    let line = |([one, other], (count, most)): ([String; 2], (usize, f64))| {
        format!("{one} and {other}: {count} rings, and the largest deviation is {:.3} %.", most * 100.0)
    };
    widest.into_iter().map(line).collect()
}

fn lead(run: &Run) -> Vec<String> {
    let mut lead = vec![run.design.question.clone()];
    lead.extend(run.design.source.iter().map(|source| format!("Source: {source}.")));
    lead.push(format!("{}, Wharf {}, seed {}.", words::moment(run.began_ms), run.version, run.seed));
    lead
}

/// What the run found, before everything else.
fn found(run: &Run, results: &Results) -> Section {
    let mut lines = conclusion::sentences(run, results);
    let agreements = results.agreements();
    lines.extend((!agreements.is_empty()).then(|| words::agreements(&agreements)));
    lines.extend(goal_counts(results));
    lines.extend(results.detectable(run.rounds as usize).map(words::detectable));
    section("found", "What was found", listed(&lines))
}

fn warnings(run: &Run, results: &Results) -> Section {
    let lines: Vec<String> = results.warnings.iter().map(|warning| words::warning(run, results, warning)).collect();
    let blocks = if lines.is_empty() { vec![Block::Text("None.".to_owned())] } else { vec![Block::Warnings(lines)] };
    section("warnings", "Warnings", blocks)
}

/// How many goals are met, missed and so on.
fn goal_counts(results: &Results) -> Option<String> {
    let all = [Reached::Met, Reached::Missed, Reached::Undecided, Reached::NotMeasured];
    let count = |reached: &Reached| results.goals.iter().filter(|aim| aim.reached == *reached).count();
    let counts: Vec<String> = all.iter().map(|reached| format!("{} {reached}", count(reached))).collect();
    let total = words::count(results.goals.len(), "goal", "goals");
    (!results.goals.is_empty()).then(|| format!("Of {total}: {}.", counts.join(", ")))
}

/// All goals with what was found of them, the ones that could not be measured too.
fn goals(run: &Run, results: &Results) -> Section {
    let factors: Vec<&str> = run.design.factors.iter().map(|factor| factor.name.as_str()).collect();
    let mut columns: Vec<Column> = factors.iter().copied().chain(["figure", "divided by"]).map(Column::text).collect();
    columns.extend(["goal", "found", "interval", "n", "disturbed"].map(Column::number));
    columns.push(Column::text("verdict"));
    let mut table = Table::new(columns);
    for aim in &results.goals {
        table.push(goal_cells(run, &factors, aim));
    }
    let level = words::shortest(results.level.get() * 100.0);
    let caption = format!(
        "A goal is met or missed where the whole interval of {level} % is on one side of it, or where the warning is there or \
         not; each goal is judged by itself"
    );
    let blocks = if results.goals.is_empty() { Vec::new() } else { vec![Block::Table(caption, table)] };
    section("goals", "Goals", blocks)
}

fn goal_cells(run: &Run, factors: &[&str], Aim { goal, comparison, disturbed, reached }: &Aim) -> Vec<String> {
    let found = comparison.as_ref().ok().map(|found| (found.ratio, found.pairs));
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let mut cells: Vec<String> = factors.iter().map(|name| or_none(goal.levels.get(*name).cloned())).collect();
    cells.push(words::with_unit(&run.design, &goal.figure));
    cells.push(or_none(goal.baseline.as_ref().map(words::baseline)));
    cells.push(words::bound(goal.bound));
    cells.push(or_none(found.map(|(ratio, _)| words::figure(ratio.value))));
    let ends = |low, high| format!("{} … {}", words::figure(low), words::figure(high));
    cells.push(or_none(found.map(|(ratio, _)| ends(ratio.interval.low, ratio.interval.high))));
    cells.push(or_none(found.map(|(_, pairs)| pairs.to_string())));
    cells.push(or_none(found.map(|(_, pairs)| words::disturbed(*disturbed, pairs))));
    cells.push(match comparison {
        Err(error) if *reached == Reached::Undecided => format!("{reached}: {error}"),
        _ => reached.to_string(),
    });
    cells
}

fn table_section(
    run: &Run,
    results: &Results,
    table: &TableKind,
    rows: &[Row],
    number: usize,
) -> Result<Section, ChartError> {
    let caption = format!("{} divided by that of “{}”", words::with_unit(&run.design, &table.figure), table.baseline);
    let mut blocks: Vec<Block> =
        plots::ratios(run, table, rows, format!("ratios-{number}"))?.into_iter().map(Block::Chart).collect();
    blocks.push(Block::Table(caption, ratios(run, results, &table.factor, rows)));
    blocks
        .push(Block::Details("The same by means and by ranks".to_owned(), vec![second_look(run, &table.factor, rows)]));
    Ok(section(&format!("table-{number}"), &table.title, blocks))
}

fn named(row: &Row, factors: &[&str]) -> Vec<String> {
    let level = |factor: &&str| row.levels.get(*factor).cloned().unwrap_or_default();
    factors.iter().map(level).chain([row.candidate().to_owned()]).collect()
}

fn heads(factors: &[&str], factor: &str) -> Vec<Column> {
    factors.iter().copied().chain([factor]).map(Column::text).collect()
}

/// The ratios of rows, with the document's beside them where it has some.
fn ratios(run: &Run, results: &Results, factor: &str, rows: &[Row]) -> Table {
    let factors = words::varying_factors(&run.design, factor, rows);
    let has_document = rows.iter().any(|row| row.document.is_some());
    let has_figures = rows.iter().any(|row| row.document.as_ref().is_some_and(|document| document.figures().is_some()));
    let mut columns = heads(&factors, factor);
    columns.extend(has_figures.then(|| Column::number("document")));
    columns.push(Column::number("ours"));
    columns.extend(has_document.then(|| Column::number("document %")));
    columns.extend(["ours %", "interval"].map(Column::number));
    // What is left of a wide table without scrolling is read first.
    columns.push(Column::text("verdict"));
    columns.extend(has_document.then(|| Column::text("document inside")));
    columns.extend(["± %", "n"].map(Column::number));
    let is_disturbed = rows.iter().any(|row| row.disturbed > 0);
    columns.extend(is_disturbed.then(|| Column::number("disturbed")));
    columns.extend(run.precision.map(|_| Column::text("precise")));
    let mut table = Table::new(columns);
    let pair = |figures: Option<BeforeAfter>| figures.map_or(NONE.to_owned(), words::before_after);
    for row in rows {
        let found = row.measured();
        let document = row.document.as_ref();
        let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
        let mut cells = named(row, &factors);
        cells.extend(has_figures.then(|| pair(document.and_then(DocumentRatio::figures))));
        cells.push(pair(row.medians));
        cells.extend(has_document.then(|| or_none(document.map(|document| words::percent(document.ratio())))));
        cells.push(or_none(row.ratio().map(words::percent)));
        cells.push(or_none(found.map(|found| words::percent_interval(found.ratio.interval))));
        cells.push(words::verdict(row, results.margin));
        cells.extend(has_document.then(|| words::agreement(row)));
        cells.push(or_none(found.map(|found| format!("{:.1}", found.half_width() * 100.0))));
        cells.push(or_none(found.map(|found| found.pairs.to_string())));
        let pairs = found.map_or(0, |found| found.pairs);
        cells.extend(is_disturbed.then(|| words::disturbed(row.disturbed, pairs)));
        let is_precise = |wanted: Precision| found.is_some_and(|found| found.half_width() <= wanted.half_width);
        cells.extend(run.precision.map(|wanted| if is_precise(wanted) { "yes" } else { "no" }.to_owned()));
        table.push(cells);
    }
    table
}

/// What rows say without logarithms, and without pairs.
fn second_look(run: &Run, factor: &str, rows: &[Row]) -> Block {
    let factors = words::varying_factors(&run.design, factor, rows);
    let mut columns = heads(&factors, factor);
    columns.extend(["ratio of means % [bootstrap]", "p of ranks", "autocorrelation"].map(Column::number));
    let mut table = Table::new(columns);
    for row in rows {
        let mut cells = named(row, &factors);
        cells.push(row.means.map_or(NONE.to_owned(), words::percent_estimate));
        cells.push(row.rank_chance.map_or(NONE.to_owned(), words::chance));
        cells.push(row.resemblance.map_or(NONE.to_owned(), |found| format!("{:+.2}", found.value)));
        table.push(cells);
    }
    Block::Table(
        "Ratio of means with its bootstrap interval, Mann-Whitney test, autocorrelation at lag 1".to_owned(),
        table,
    )
}

fn controls(run: &Run, results: &Results) -> Section {
    let Some(first) = results.controls.first() else { return section("control", "", Vec::new()) };
    let text = format!(
        "“{}” is “{}” once more: a difference between them is an error of the experiment.",
        first.candidate(),
        first.baseline
    );
    let mut blocks = vec![Block::Text(text)];
    let mut by_figure: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    results.controls.iter().for_each(|row| by_figure.entry(&row.figure).or_default().push(row.clone()));
    for (figure, rows) in by_figure {
        let caption = words::with_unit(&run.design, figure);
        blocks.push(Block::Table(caption, ratios(run, results, &run.design.contenders, &rows)));
    }
    section("control", "Control (A/A)", blocks)
}

fn curves(run: &Run, results: &Results) -> Result<Section, ChartError> {
    let mut blocks = Vec::new();
    for (number, kind) in run.design.curves.iter().enumerate() {
        blocks
            .extend(plots::curves(run, results, kind, &format!("curve-{}", number + 1))?.into_iter().map(Block::Chart));
    }
    if !blocks.is_empty() {
        blocks.push(Block::Text("The figures are in the table of all figures.".to_owned()));
    }
    Ok(section("curves", "Throughput and latency", blocks))
}

fn latencies(run: &Run, results: &Results) -> Result<Section, ChartError> {
    let mut places: Vec<(String, Vec<&LatencyCurve>)> = Vec::new();
    for curve in &results.latencies {
        let place = words::levels(&run.design, &curve.levels, &run.design.contenders);
        match places.iter_mut().find(|(one, _)| *one == place) {
            Some((_, curves)) => curves.push(curve),
            None => places.push((place, vec![curve])),
        }
    }
    let (mut blocks, mut tables) = (Vec::new(), Vec::new());
    for (number, (place, curves)) in places.iter().enumerate() {
        blocks.extend(plots::latency(run, curves, format!("latency-{}", number + 1))?.map(Block::Chart));
        tables.push(Block::Table(format!("Latency at {place}"), latency_table(run, curves)));
    }
    if !tables.is_empty() {
        blocks.push(Block::Details("Latency in figures".to_owned(), tables));
    }
    Ok(section("latency", "Latency", blocks))
}

fn latency_table(run: &Run, curves: &[&LatencyCurve]) -> Table {
    let name =
        |curve: &&LatencyCurve| Column::number(curve.levels.get(&run.design.contenders).map_or("all", String::as_str));
    let mut table = Table::new([Column::number("%")].into_iter().chain(curves.iter().map(name)));
    for at in curves.iter().flat_map(|curve| &curve.percentiles).map(|at| at.percent).collect::<Percents>().0 {
        let cell = |curve: &&LatencyCurve| {
            let found = curve.percentiles.iter().find(|one| one.percent.to_bits() == at);
            found.map_or(NONE.to_owned(), |found| words::latency(found.us))
        };
        table.push([words::shortest(f64::from_bits(at))].into_iter().chain(curves.iter().map(cell)));
    }
    table
}

/// Percentages that occur, rising: numbers above 0 are in the order of their bits.
struct Percents(std::collections::BTreeSet<u64>);

impl FromIterator<f64> for Percents {
    fn from_iter<T: IntoIterator<Item = f64>>(percents: T) -> Percents {
        Percents(percents.into_iter().map(f64::to_bits).collect())
    }
}

fn course(run: &Run, passes: &[Measurement], results: &Results) -> Result<Section, ChartError> {
    let judged =
        run.design.figures.iter().filter(|figure| run.design.tables.iter().any(|table| table.figure == figure.name));
    let mut blocks = Vec::new();
    for (number, figure) in judged.enumerate() {
        let chart = plots::course(run, results, passes, &figure.name, format!("course-{}", number + 1))?;
        blocks.extend(chart.map(Block::Chart));
    }
    for (place, charts) in over_time::charts(run, passes)? {
        let charts = charts.into_iter().map(Block::Chart).collect();
        blocks.push(Block::PageOnly(vec![Block::Details(format!("Over time: {place}"), charts)]));
    }
    if !passes.is_empty() {
        let all = vec![all_passes(run, passes, results)];
        blocks.push(Block::PageOnly(vec![Block::Details("All passes".to_owned(), all)]));
    }
    Ok(section("course", "Course of the run", blocks))
}

/// What else the machine did in a pass: the head of a column, and its cell.
type Disturbed = (&'static str, fn(&Disturbance) -> Option<String>);

const DISTURBANCES: [Disturbed; 4] = [
    ("others' CPUs", |found| Some(format!("{:.2}", found.foreign_processors))),
    ("stolen CPUs", |found| Some(format!("{:.2}", found.stolen_processors))),
    ("MHz", |found| found.frequency_mhz.map(|mhz| format!("{mhz:.0}"))),
    ("°C", |found| found.temperature_c.map(|degrees| format!("{degrees:.0}"))),
];

/// The figures of tables that are beyond Tukey's fences, by the position of their pass.
fn outliers<'a>(run: &Run, results: &'a Results) -> BTreeMap<u32, Vec<&'a str>> {
    let mut found: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    let is_judged = |name: &str| run.design.tables.iter().any(|table| table.figure == name);
    for cell in results.cells.iter().filter(|cell| is_judged(&cell.figure)) {
        for outlier in cell.samples.iter().flat_map(Samples::outliers) {
            found.entry(cell.positions[outlier.index]).or_default().push(&cell.figure);
        }
    }
    found
}

fn all_passes(run: &Run, passes: &[Measurement], results: &Results) -> Block {
    let figures: Vec<&str> = run
        .design
        .figures
        .iter()
        .filter(|figure| figure.better != Better::Neither)
        .map(|figure| figure.name.as_str())
        .collect();
    let heads = ["pass", "round"].map(Column::number).into_iter().chain([Column::text("levels")]);
    let figure_heads = figures.iter().map(|figure| Column::number(&words::with_unit(&run.design, figure)));
    let is_visible = |(_, shown): &&Disturbed| passes.iter().any(|pass| shown(&pass.disturbance).is_some());
    let disturbances: Vec<&Disturbed> = DISTURBANCES.iter().filter(is_visible).collect();
    let disturbance_heads = disturbances.iter().map(|(head, _)| Column::number(head));
    let mut table = Table::new(heads.chain(figure_heads).chain(disturbance_heads).chain([Column::text("remark")]));
    let outliers = outliers(run, results);
    for pass in passes {
        let mut cells = vec![pass.place.position.to_string(), pass.place.round.to_string()];
        cells.push(words::levels(&run.design, &pass.levels, ""));
        cells.extend(
            figures.iter().map(|name| pass.figures.get(*name).map_or(NONE.to_owned(), |value| words::figure(*value))),
        );
        cells.extend(disturbances.iter().map(|(_, shown)| shown(&pass.disturbance).unwrap_or(NONE.to_owned())));
        cells.push(remark(run, pass, &outliers));
        table.push(cells);
    }
    Block::Table("All passes in their order".to_owned(), table)
}

/// What has to be known of a pass beside its figures.
fn remark(run: &Run, pass: &Measurement, outliers: &BTreeMap<u32, Vec<&str>>) -> String {
    if let Some(reason) = &pass.failure {
        return reason.clone();
    }
    if pass.is_repeated {
        return "disturbed, made again".to_owned();
    }
    let disturbed = run.is_disturbed(&pass.disturbance).then(|| "disturbed, but counts".to_owned());
    let outlier = outliers.get(&pass.place.position).map(|figures| format!("outlier: {}", figures.join(", ")));
    disturbed.into_iter().chain(outlier).collect::<Vec<String>>().join("; ")
}

fn all_figures(run: &Run, results: &Results) -> Block {
    let heads = run.design.factors.iter().map(|factor| Column::text(&factor.name));
    let numbers =
        ["n", "median", "interval", "mean", "outliers", "failed", "repeated", "disturbed"].map(Column::number);
    let mut table = Table::new(heads.chain([Column::text("figure")]).chain(numbers));
    for cell in &results.cells {
        let level = |name: &str| cell.levels.get(name).cloned().unwrap_or_default();
        let mut cells: Vec<String> = run.design.factors.iter().map(|factor| level(&factor.name)).collect();
        cells.push(words::with_unit(&run.design, &cell.figure));
        match &cell.samples {
            Ok(samples) => {
                let interval = samples.median_interval(results.level).ok().map(|found| found.interval);
                let ends = interval.map(|ends| format!("{} … {}", words::figure(ends.low), words::figure(ends.high)));
                cells.extend([
                    samples.count().to_string(),
                    words::figure(samples.median()),
                    ends.unwrap_or(NONE.to_owned()),
                ]);
                cells.extend([words::figure(samples.mean()), samples.outliers().len().to_string()]);
            }
            Err(_) => cells.extend(["0", NONE, NONE, NONE, "0"].map(str::to_owned)),
        }
        cells.extend([cell.failures, cell.repeated, cell.disturbed].map(|count| count.to_string()));
        table.push(cells);
    }
    Block::Details(
        "Every figure at every combination".to_owned(),
        vec![Block::Table(
            "Medians with their intervals, means, outliers (kept), failed passes, repeated tries, disturbed passes that count".to_owned(),
            table,
        )],
    )
}

fn method(run: &Run, results: &Results) -> Vec<String> {
    let level = words::shortest(results.level.get() * 100.0);
    let margin = words::shortest(results.margin.get() * 100.0);
    vec![
        format!(
            "{} rounds in random order that follows from seed {}; in each round every contender runs in a pair or a block with the first one.",
            run.rounds, run.seed
        ),
        format!("Ratios are geometric means of pairs, with Student's interval of {level} % on their logarithms."),
        format!(
            "Verdicts of all tables together are corrected for their number (Holm): higher, lower, equal within ±{margin} %, or undecided."
        ),
        "Outliers (beyond Tukey's fences) are counted and kept. Failed passes are left out with their pairs. Of a \
         disturbed pass the last try counts."
            .to_owned(),
    ]
}

fn set_up(run: &Run) -> Section {
    let machine = &run.machine;
    let mut table = Table::new([Column::text("what"), Column::text("value")]);
    let memory = units::binary_bytes(machine.memory_bytes as f64);
    let known = [
        ("processor", machine.processor.clone()),
        ("processors", machine.processors.to_string()),
        ("memory", memory),
        ("kernel", machine.kernel.clone()),
    ];
    let known = known.into_iter().map(|(name, value)| (name.to_owned(), value));
    let file_systems = machine.file_systems.iter().map(|(path, kind)| (format!("file system of {path}"), kind.clone()));
    let programs = machine.programs.iter().map(|(name, version)| (format!("version of {name}"), version.clone()));
    let settings = run.settings.iter().map(|(name, value)| (format!("setting {name}"), value.clone()));
    for (name, value) in known.chain(file_systems).chain(programs).chain(settings) {
        table.push([name, value]);
    }
    section(
        "set-up",
        "Machine and settings",
        vec![Block::Table("What the run was made on, and with".to_owned(), table)],
    )
}
