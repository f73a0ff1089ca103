//! Charts as SVG whose colours suit light and dark pages.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::words::BETWEEN_LEVELS;
use crate::chart::ChartError;
use crate::html::escaped;

/// The width of each chart: so little that a telephone shows its text large enough to read.
pub(super) const WIDTH: u32 = 480;
/// The height of text.
pub(super) const TEXT: u32 = 15;
/// About how wide a letter is.
const LETTER: f64 = 7.6;
/// The height of a line of the legend.
const LEGEND_LINE: u32 = 22;
/// Text and axes: grey enough for both schemes; pages that know theirs replace it.
pub(super) const INK: RGBColor = RGBColor(0x6B, 0x72, 0x80);
/// Lines behind the figures.
pub(super) const GRID: RGBColor = RGBColor(0x9C, 0xA3, 0xAF);
/// Series: told apart on white and on black, and by those who do not see all colours.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x2F, 0x7F, 0xD0),
    RGBColor(0xD9, 0x62, 0x2B),
    RGBColor(0x1F, 0x9E, 0x7A),
    RGBColor(0xB5, 0x65, 0xC9),
    RGBColor(0xB8, 0x86, 0x0B),
    RGBColor(0xD1, 0x4A, 0x7C),
    RGBColor(0x2A, 0xA3, 0xB8),
    RGBColor(0x8A, 0x8F, 0x3C),
];

/// The rules that a file needs to suit the scheme of whoever looks at it.
const STYLE: &str = "<style>@media(prefers-color-scheme:light){[fill=\"#6B7280\"]{fill:#374151}[stroke=\"#6B7280\"]\
                     {stroke:#374151}}@media(prefers-color-scheme:dark){[fill=\"#6B7280\"]{fill:#d1d5db}\
                     [stroke=\"#6B7280\"]{stroke:#d1d5db}}</style>";

/// A chart of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// What links name it by; unique in its report.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows, in a sentence, for those who do not see it.
    pub description: String,
    /// The drawing from behind its opening tag on.
    body: String,
    height: u32,
}

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn = Result<(), Box<dyn Error>>;

/// What a chart says of itself.
pub(super) struct Head {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
}

impl Chart {
    pub(super) fn new(
        head: Head,
        plot_height: u32,
        names: &[&str],
        draw: impl FnOnce(&Area<'_>) -> Drawn,
    ) -> Result<Chart, ChartError> {
        let (legend, lines) = placed(names);
        let top = if names.is_empty() { 0 } else { lines * LEGEND_LINE + 8 };
        let height = plot_height + top;
        let mut svg = String::new();
        let all = |svg: &mut String| -> Drawn {
            let area = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
            let (above, below) = area.split_vertically(top);
            for (index, (name, (x, y))) in names.iter().zip(legend).enumerate() {
                draw_mark(&above, (x + 6, y + 9), index, 1.0)?;
                above.draw(&Text::new((*name).to_owned(), (x + 16, y + 9), text(HPos::Left)))?;
            }
            draw(&below)?;
            area.present().map_err(|error| error.to_string().into())
        };
        all(&mut svg).map_err(ChartError::new)?;
        let body = svg.split_once('>').map_or("", |(_, body)| body).to_owned();
        Ok(Chart { id: head.id, title: head.title, description: head.description, body, height })
    }

    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.id)
    }

    /// The drawing as a file that suits light and dark schemes.
    pub fn to_svg(&self) -> String {
        self.with("xmlns=\"http://www.w3.org/2000/svg\" ", STYLE)
    }

    /// The drawing as a part of a page, which brings the rules for its colours.
    pub(super) fn to_inline_svg(&self) -> String {
        self.with("", "")
    }

    fn with(&self, attribute: &str, style: &str) -> String {
        let Chart { id, title, description, body, height } = self;
        let (title, description) = (escaped(title), escaped(description));
        format!(
            "<svg {attribute}viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{title}</title>\
             <desc id=\"{id}-desc\">{description}</desc>{style}{body}"
        )
    }
}

/// Where the names of a legend are, and how many lines they take.
fn placed(names: &[&str]) -> (Vec<(i32, i32)>, u32) {
    let (mut x, mut line) = (8.0, 0);
    let mut places = Vec::new();
    for name in names {
        let width = 30.0 + width_of(name);
        if x + width > f64::from(WIDTH) && x > 8.0 {
            (x, line) = (8.0, line + 1);
        }
        places.push((x as i32, 4 + (line * LEGEND_LINE) as i32));
        x += width;
    }
    (places, line + 1)
}

/// About how many pixels a text takes.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// A name of levels in lines of so many pixels, parted between levels. The start of a level that is longer stands for
/// it.
pub(super) fn lines_of(name: &str, pixels: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for level in name.split(BETWEEN_LEVELS) {
        match lines.last_mut() {
            Some(line) if width_of(line) + width_of(BETWEEN_LEVELS) + width_of(level) <= pixels => {
                line.push_str(BETWEEN_LEVELS);
                line.push_str(level);
            }
            _ => lines.push(fitting(level, pixels)),
        }
    }
    lines
}

/// The start of a text that fits into so many pixels.
fn fitting(text: &str, pixels: f64) -> String {
    let most = (pixels / LETTER) as usize;
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// The colour of a series.
pub(super) fn colour(series: usize) -> RGBColor {
    COLOURS[series % COLOURS.len()]
}

/// The style of text beside a point.
pub(super) fn text(side: HPos) -> TextStyle<'static> {
    ("sans-serif", TEXT).into_font().color(&INK).pos(Pos::new(side, VPos::Center))
}

/// The sign of a series: its colour, and a shape that changes with it.
pub(super) fn draw_mark(area: &Area<'_>, at: (i32, i32), series: usize, opacity: f64) -> Drawn {
    let style = colour(series).mix(opacity).filled();
    let drawn = match series % 3 {
        0 => area.draw(&Circle::new(at, 4, style)),
        1 => area.draw(&Rectangle::new([(at.0 - 4, at.1 - 4), (at.0 + 4, at.1 + 4)], style)),
        _ => area.draw(&TriangleMarker::new(at, 5, style)),
    };
    drawn.map_err(|error| error.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_parted_between_levels_where_its_line_is_full() {
        assert_eq!(lines_of("write · warm · udp · 3", 150.0), ["write · warm · udp", "3"]);
        assert_eq!(lines_of("all", 150.0), ["all"]);
        assert_eq!(lines_of("4k · log before a slow device", 150.0), ["4k", "log before a slow …"]);
    }
}
