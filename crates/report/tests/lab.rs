//! Reports of runs whose truth is known, as texts and in a browser.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use measure::analysis::{FigureLimit, analyse};
use measure::record::{Baseline, BeforeAfter, Bound, DocumentRatio, Goal, Measurement, Precision, Run};
use measure::{Limit, Margin, Period, Side};
use report::lab::{Report, compare, gate_lines, junit, results_csv, results_json};
use testing::synthetic::{Server, levels, passes, run};

fn example() -> (Run, Vec<Measurement>) {
    let mut run = run(7, 10);
    run.design.question = "Does <b>copying</b> cost & how much?".to_owned();
    let server = Server { ratios: [1.0, 1.15, 1.3, 1.0], noise: 0.01, slow: 0.02, drift: 0.1, ..Server::default() };
    let passes = passes(&run, &server);
    (run, passes)
}

fn report() -> Report {
    let (run, passes) = example();
    let results = analyse(&run, &passes, Margin::TWO_PERCENT);
    Report::new(&run, &passes, &results).unwrap()
}

#[test]
fn terminal_shows_verdicts_beside_the_document_and_warnings() {
    let text = report().to_text();
    for wanted in
        ["document %", "document inside", "yes", "no", "! Drift: throughput rises", "Control (A/A)", "Skipped"]
    {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    // The ratios of both block sizes are one ratio of the source each.
    let lead = "Of 3 ratios of the source, 1 lies inside our interval, 2 lie outside";
    assert!(text.contains(lead), "{text}");
    let row = text.lines().find(|line| line.starts_with("read   4k     gather")).unwrap();
    assert!(row.contains("2000 → 2300") && row.contains("+15.0") && row.contains("higher"), "{row}");
}

#[test]
fn markdown_links_every_chart_and_shows_no_markup_of_names() {
    let report = report();
    let text = report.to_markdown();
    for chart in report.charts() {
        assert!(text.contains(&format!("]({})", chart.file_name())), "{}", chart.id);
    }
    assert!(text.contains("\\<b\\>copying"), "{text}");
}

#[test]
fn charts_are_files_with_a_title_a_description_and_both_schemes() {
    let report = report();
    let charts = report.charts();
    let ids: std::collections::BTreeSet<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
    assert_eq!(ids.len(), charts.len());
    for kind in ["ratios-1", "ratios-2", "latency-1", "curve-1-1", "course-1"] {
        assert!(ids.contains(kind), "{kind}: {ids:?}");
    }
    for chart in charts {
        let svg = chart.to_svg();
        assert!(svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for part in ["<title id=", "<desc id=", "prefers-color-scheme:dark"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        // Only the first table has ratios of the source.
        assert_eq!(svg.contains("diamonds are"), chart.id == "ratios-1", "{}", chart.id);
    }
}

#[test]
fn conclusion_is_first_and_counts_the_rows_of_each_candidate() {
    let text = report().to_text();
    let found = text.lines().position(|line| line == "What was found").unwrap();
    let warnings = text.lines().position(|line| line == "Warnings").unwrap();
    assert!(found < warnings, "{text}");
    for wanted in [
        "- Throughput by reply: throughput of “gather” against “copy” is higher (better) in 4 of 4 rows (+1",
        "- Throughput by block: throughput of “128k” against “4k” is higher (better) in 6 of 6 rows (+",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn table_of_a_single_contender_is_a_sentence_with_its_medians() {
    let (run, passes) = example();
    let alone: Vec<Measurement> = passes.into_iter().filter(|pass| pass.levels["reply"] == "copy").collect();
    let results = analyse(&run, &alone, Margin::TWO_PERCENT);
    let text = Report::new(&run, &alone, &results).unwrap().to_text();
    assert!(text.contains("nothing ran beside “copy”, whose median of throughput, MB/s is "), "{text}");
    assert!(text.contains(" at load read · block 4k, "), "{text}");
    assert!(!text.lines().any(|line| line == "Throughput by reply"), "{text}");
}

#[test]
fn contender_has_one_sign_in_all_charts_and_points_say_what_they_are() {
    let report = report();
    let page = report.to_html();
    let colours: std::collections::BTreeSet<&str> = (page.split("<circle").flat_map(|part| part.split("<polygon")))
        .flat_map(|part| part.split("<rect"))
        .filter(|part| part.contains(">\ngather\n"))
        .filter_map(|part| part.split("fill=\"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(colours.len(), 1, "{colours:?}");
    assert!(page.contains("<title>gather · load read · block 4k: +15.0 ["), "{page}");
    assert!(page.contains("<title>gather: 50 % within ") && !report.charts()[0].to_svg().contains("r=\"8\""));
}

#[test]
fn csv_and_json_have_every_ratio() {
    let (run, passes) = example();
    let results = analyse(&run, &passes, Margin::TWO_PERCENT);
    // A head, 8 and 6 rows of tables, 4 controls.
    assert_eq!(results_csv(&run, &results).lines().count(), 19);
    let json: serde_json::Value = serde_json::from_str(&results_json(&run, &results).unwrap()).unwrap();
    let row = &json["tables"][0]["rows"][0];
    assert_eq!((row["verdict"].as_str(), row["agreement"].as_str()), (Some("higher"), Some("inside")));
    let ratio = results.tables[0][0].comparison.unwrap().ratio.value;
    assert!((row["ratio"]["value"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-12);
    assert_eq!(json["cells"].as_array().unwrap().len(), 48);
}

#[test]
fn goals_show_their_bound_what_was_found_and_those_that_were_not_measured() {
    let (mut run, passes) = example();
    let goal = |reply: &str, bound| Goal {
        levels: levels(&[("load", "read"), ("block", "4k"), ("reply", reply)]),
        figure: "throughput".to_owned(),
        baseline: Some("copy".into()),
        bound,
    };
    run.design.goals = vec![
        goal("zero-copy", Bound::AtLeast(1.2)),
        goal("absent", Bound::AtMost(2.5)),
        goal("gather", Bound::HasPeaks),
        goal("gather", Bound::Drifts),
    ];
    let results = analyse(&run, &passes, Margin::TWO_PERCENT);
    let text = Report::new(&run, &passes, &results).unwrap().to_text();
    assert!(text.contains("Of 4 goals: 1 met, 2 missed, 0 undecided, 1 not measured."), "{text}");
    let row = |end: &str| text.lines().find(|line| line.trim_end().ends_with(end)).unwrap();
    assert!(row(" met").contains("≥ 1.2") && row(" met").contains("zero-copy"), "{}", row(" met"));
    assert!(row(" not measured").contains("≤ 2.5") && row(" not measured").contains('–'), "{}", row(" not measured"));
    assert!(text.contains("warning of several peaks") && text.contains("warning of drift"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&results_json(&run, &results).unwrap()).unwrap();
    let reached = [0, 1].map(|index| json["goals"][index]["reached"].as_str().unwrap());
    assert_eq!((reached, &json["goals"][0]["bound"]["at-least"]), (["met", "not measured"], &1.2.into()));
    assert_eq!([2, 3].map(|index| json["goals"][index]["bound"].as_str().unwrap()), ["has-peaks", "drifts"]);
    assert!(!report().to_text().contains("goals"));
    run.design.goals[0].baseline = Some(Baseline::Levels(levels(&[("load", "write"), ("block", "128k")])));
    let results = analyse(&run, &passes, Margin::TWO_PERCENT);
    let text = Report::new(&run, &passes, &results).unwrap().to_text();
    assert!(text.contains("block 128k, load write"), "{text}");
}

#[test]
fn baseline_is_a_name_or_levels_in_a_record() {
    let read = |text: &str| serde_json::from_str::<Baseline>(text).unwrap();
    assert_eq!(read(r#""copy""#), Baseline::from("copy"));
    assert_eq!(read(r#"{"block":"4k"}"#), Baseline::Levels(levels(&[("block", "4k")])));
    assert_eq!(serde_json::to_string(&Baseline::from("copy")).unwrap(), r#""copy""#);
}

#[test]
fn records_with_either_order_of_a_documents_figures_are_read_alike() {
    let figures = BeforeAfter { before: 77_752.0, after: 93_592.0 };
    let document = DocumentRatio::of_figures(levels(&[]), figures);
    let text = serde_json::to_string(&document).unwrap();
    assert!(text.contains(r#""before":77752.0,"after":93592.0"#), "{text}");
    let read = |text: &str| serde_json::from_str::<DocumentRatio>(text).unwrap();
    assert_eq!(read(&text), document);
    for old in ["[77752.0,93592.0]", "[93592.0,77752.0]"] {
        let text = format!(r#"{{"levels":{{}},"ratio":{},"figures":{old}}}"#, figures.ratio());
        assert_eq!(read(&text), document, "{old}");
    }
}

#[test]
fn page_has_all_passes_with_disturbances_and_outliers_and_texts_name_their_file() {
    let (run, mut passes) = example();
    let position = passes[30].place.position;
    passes[30].figures.insert("throughput".to_owned(), 1e6);
    passes[30].disturbance.foreign_processors = 0.37;
    passes[30].disturbance.temperature_c = Some(61.0);
    let results = analyse(&run, &passes, Margin::TWO_PERCENT);
    let report = Report::new(&run, &passes, &results).unwrap();
    let page = report.to_html();
    let table = page.split("All passes in their order").nth(2).unwrap();
    let row = table.split("<tr>").find(|row| row.contains(&format!("<td class=\"number\">{position}</td>"))).unwrap();
    assert!(row.contains(">0.37<") && row.contains(">61<"), "{row}");
    assert!(row.contains("disturbed, but counts; outlier: throughput"), "{row}");
    let head = table.split("</thead>").next().unwrap();
    assert!(head.contains("others&#39; CPUs") && head.contains("°C") && !head.contains("MHz"), "{head}");
    let text = report.to_markdown();
    assert!(text.contains("1 of the 240 passes that count was disturbed") && text.contains("1 of 10"), "{text}");
    assert!(text.contains("are invisible in half of the rows"), "{text}");
    assert!(text.contains("All passes are in `report.html`") && !text.contains("in their order"), "{text}");
}

#[test]
fn run_with_a_wanted_precision_says_which_ratios_have_it() {
    let (mut run, passes) = example();
    let has = |run: &Run| {
        let results = analyse(run, &passes, Margin::TWO_PERCENT);
        let text = Report::new(run, &passes, &results).unwrap().to_text();
        let row = text.lines().find(|line| line.starts_with("read   4k     gather")).unwrap().to_owned();
        ["yes", "no"].map(|word| row.trim_end().ends_with(word))
    };
    assert_eq!(has(&run), [false, false]);
    run.precision = Some(Precision { level: 0.95, half_width: 0.5 });
    assert_eq!(has(&run), [true, false]);
    run.precision = Some(Precision { level: 0.95, half_width: 1e-6 });
    assert_eq!(has(&run), [false, true]);
}

#[test]
fn page_shows_rates_and_latencies_over_time_and_texts_do_not() {
    let (run, mut passes) = example();
    let results = analyse(&run, &passes, Margin::TWO_PERCENT);
    assert!(!Report::new(&run, &passes, &results).unwrap().to_html().contains("over time"));
    let period = |number: u32| Period {
        at_s: f64::from(number) * 0.1,
        seconds: 0.1,
        operations: if number == 3 { 0 } else { 100 + u64::from(number) },
        bytes: 0,
        p50_us: 40.0,
        p99_us: 250.0,
    };
    passes.iter_mut().for_each(|pass| pass.periods = (0..5).map(period).collect());
    let report = Report::new(&run, &passes, &results).unwrap();
    let page = report.to_html();
    for title in ["Rate over time: ", "Median latency over time: ", "99th percentile over time: "] {
        assert!(page.contains(title), "{title}");
    }
    // Periods without an operation have a rate and no latency.
    for (said, is_there) in [
        ("after 0.2 s: 1020 operations/s", true),
        ("after 0.3 s: 0 operations/s", true),
        ("after 0.2 s: 250 µs", true),
        ("after 0.3 s: 250 µs", false),
    ] {
        assert_eq!(page.contains(said), is_there, "{said}");
    }
    assert!(!report.to_markdown().contains("over time") && report.charts().iter().all(|chart| chart.id != "time-1-1"));
}

#[test]
fn run_without_a_single_pass_has_a_report() {
    let run = run(1, 10);
    let results = analyse(&run, &[], Margin::TWO_PERCENT);
    let report = Report::new(&run, &[], &results).unwrap();
    assert!(report.charts().is_empty() && report.to_html().contains("synthetic"));
}

#[test]
fn comparison_of_runs_shows_sure_changes_and_what_else_differs() {
    let steady = Server { round_noise: 0.0, ..Server::default() };
    let (old, mut new) = (run(1, 10), run(2, 10));
    new.settings.insert("duration".to_owned(), "2 s".to_owned());
    let old_passes = passes(&old, &steady);
    let new_passes = passes(&new, &Server { ratios: [1.0, 1.2, 1.0, 1.0], ..steady });
    let compared = compare(&[(old, old_passes), (new, new_passes)]).unwrap();
    let (text, page) = (compared.to_text(), compared.to_html());
    assert!(
        page.contains("<title>new to old · throughput · read · 4k · gather: +") && page.contains("id=\"changes-1\""),
        "{page}"
    );
    assert!(!compared.to_markdown().contains(".svg"));
    assert!(text.contains("! the runs did not take turns"), "{text}");
    assert!(text.contains("! setting duration differs: 1 s → 2 s"), "{text}");
    assert!(text.contains("- throughput at 4k · read · gather is higher, +"), "{text}");
    let is_row = |line: &&str| line.contains("throughput") && !line.starts_with("- ");
    for line in text.lines().filter(is_row) {
        assert_eq!(line.contains(" higher "), line.contains("gather"), "{line}");
        assert!(line.trim_end().ends_with("10 + 10"), "{line}");
    }
}

#[test]
fn limits_are_lines_and_junits_test_cases_with_one_for_each_ratio() {
    let (run, passes) = example();
    let results = analyse(&run, &passes, Margin::TWO_PERCENT);
    let limit = |side, ratio| FigureLimit { figure: "throughput".to_owned(), limit: Limit { side, ratio } };
    let gated = results.gated("reply", &[limit(Side::Below, 0.97), limit(Side::Above, 1.2)]);
    // Gather and zero-copy at four loads, for each limit. Gather is 15 % faster, and zero-copy 30 %.
    let xml = junit(&run.design, &gated);
    assert!(xml.contains("tests=\"16\" failures=\"4\" errors=\"0\" skipped=\"0\""), "{xml}");
    assert_eq!((xml.matches("<testcase ").count(), xml.matches("<failure message=\"+").count()), (16, 4));
    assert!(xml.contains("name=\"throughput &gt; +20.0 % at read · 4k · zero-copy\""), "{xml}");
    let lines = gate_lines(&run.design, &gated);
    assert_eq!(lines.iter().filter(|line| line.starts_with("fails: throughput > +20.0 % at ")).count(), 4, "{lines:?}");
    assert!(results.gated("block", &[limit(Side::Below, 0.97)]).iter().all(|gated| gated.levels["block"] == "128k"));
}

/// What the page finds out about itself in a browser; its findings are its title.
const PROBE: &str = r##"<script>
const found = [];
const root = document.documentElement;
document.querySelectorAll("details").forEach((details) => { details.open = true; });
if (root.scrollWidth > root.clientWidth) found.push("overflow " + root.scrollWidth + " over " + root.clientWidth);
const table = document.querySelector("#table-1 table");
const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === "ours %");
const values = () => [...table.tBodies[0].rows].map((row) => parseFloat(row.cells[column].textContent));
const isSorted = (list) => list.every((value, index) => index === 0 || list[index - 1] <= value);
const button = table.tHead.rows[0].cells[column].querySelector("button");
if (isSorted(values())) found.push("sorted before");
button.click();
if (!isSorted(values())) found.push("not sorted " + values());
button.click();
if (!isSorted(values().reverse())) found.push("not sorted downwards " + values());
for (const link of document.querySelectorAll("a.anchor")) {
  if (!document.getElementById(link.getAttribute("href").slice(1))) found.push("no target of " + link);
}
const rgb = (color) => color.match(/[\d.]+/g).map(Number);
const part = (value) => value <= 10.31475 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4;
const luminance = (color) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => sum + weight * part(rgb(color)[i]), 0);
const contrast = (one, other) => {
  const [less, more] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (more + 0.05) / (less + 0.05);
};
const ground = (element) => {
  const color = getComputedStyle(element).backgroundColor;
  return rgb(color)[3] === 0 && element.parentElement ? ground(element.parentElement) : color;
};
// Text has the contrast that WCAG 2 wants (1.4.3, level AA).
for (const element of document.querySelectorAll("p, li, th, td, caption, figcaption, small, nav a, summary, svg text")) {
  const style = getComputedStyle(element);
  const ink = element.closest("svg") ? style.fill : style.color;
  const found_here = contrast(ink, ground(element.closest("svg")?.parentElement ?? element));
  if (found_here < 4.5) found.push("contrast " + found_here.toFixed(2) + " of " + element.tagName + " " + ink);
}
const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
if (luminance(ground(document.body)) > 0.5 !== (scheme === "light")) found.push("page is not " + scheme);
if (performance.getEntriesByType("resource").some((entry) => !entry.name.startsWith("data:"))) found.push("loads");
document.title = "PROBED " + scheme + " " + ([...new Set(found)].join("; ") || "fine");
</script>"##;

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|file| file.is_file())
}

#[test]
fn page_works_in_a_browser_on_a_telephone_and_on_a_desk_light_and_dark() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: there is no chromium on this machine");
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let html = report().to_html();
    std::fs::write(folder.join("report.html"), &html).unwrap();
    let probed = html.replace("</body>", &format!("{PROBE}</body>"));
    for width in [390, 1280] {
        // A window has a least width that a frame has not.
        let escaped = probed.replace('&', "&amp;").replace('"', "&quot;");
        let outer = format!(
            "<!DOCTYPE html><iframe id=\"page\" style=\"width:{width}px;height:800px\"></iframe><script>\
             page.onload = () => {{ document.title = page.contentDocument.title; }};</script>"
        );
        let outer = outer.replacen("></iframe>", &format!(" srcdoc=\"{escaped}\"></iframe>"), 1);
        let file = folder.join(format!("probe-{width}.html"));
        std::fs::write(&file, outer).unwrap();
        for (number, scheme) in ["dark", "light"].into_iter().enumerate() {
            let output = Command::new(&browser)
                .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
                // The order of its enumeration PreferredColorScheme.
                .arg(format!("--blink-settings=preferredColorScheme={number}"))
                .arg(format!("--user-data-dir={}", folder.join(format!("chromium-{width}-{scheme}")).display()))
                .arg(format!("file://{}", file.display()))
                .output()
                .unwrap();
            let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let title = dom.split_once("<title>PROBED ").and_then(|(_, rest)| rest.split('<').next());
            let errors: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
            let expected = format!("{scheme} fine");
            assert_eq!((title, errors), (Some(expected.as_str()), Vec::new()), "at {width} pixels: {log}");
        }
    }
}
