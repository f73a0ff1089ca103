//! Charts as SVG whose colours suit light and dark pages.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

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
    /// The drawing between its opening and its closing tag.
    body: String,
    /// What a page shows of a point that the mouse is on.
    hovers: Vec<Hover>,
    height: u32,
}

/// What a point says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hover {
    pub(super) at: (i32, i32),
    pub(super) text: String,
}

/// A series and its sign, which is the same in all charts of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) sign: usize,
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
    /// Draws a chart below a legend. Hovers are where `draw` puts them.
    pub(super) fn new(
        head: Head,
        plot_height: u32,
        legend: &[Series],
        draw: impl FnOnce(&Area<'_>, &mut Vec<Hover>) -> Drawn,
    ) -> Result<Chart, ChartError> {
        let (places, lines) = placed(legend);
        let top = if legend.is_empty() { 0 } else { lines * LEGEND_LINE + 8 };
        let height = plot_height + top;
        let (mut svg, mut hovers) = (String::new(), Vec::new());
        let all = |svg: &mut String, hovers: &mut Vec<Hover>| -> Drawn {
            let area = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
            let (above, below) = area.split_vertically(top);
            for (series, (x, y)) in legend.iter().zip(places) {
                draw_mark(&above, (x + 6, y + 9), series.sign, 1.0)?;
                above.draw(&Text::new(series.name.clone(), (x + 16, y + 9), text(HPos::Left)))?;
            }
            draw(&below, hovers)?;
            area.present().map_err(|error| error.to_string().into())
        };
        all(&mut svg, &mut hovers).map_err(ChartError::new)?;
        hovers.iter_mut().for_each(|hover| hover.at.1 += top as i32);
        let body = svg.split_once('>').map_or("", |(_, body)| body).trim_end().trim_end_matches("</svg>").to_owned();
        Ok(Chart { id: head.id, title: head.title, description: head.description, body, hovers, height })
    }

    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.id)
    }

    /// The drawing as a file that suits light and dark schemes.
    pub fn to_svg(&self) -> String {
        self.with("xmlns=\"http://www.w3.org/2000/svg\" ", STYLE, "")
    }

    /// The drawing as a part of a page, which brings the rules for its colours. Points say what they are.
    pub(super) fn to_inline_svg(&self) -> String {
        let hover = |Hover { at: (x, y), text }: &Hover| {
            format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"8\" fill-opacity=\"0\"><title>{}</title></circle>\n",
                escaped(text)
            )
        };
        self.with("", "", &self.hovers.iter().map(hover).collect::<String>())
    }

    fn with(&self, attribute: &str, style: &str, hovers: &str) -> String {
        let Chart { id, title, description, body, height, .. } = self;
        let (title, description) = (escaped(title), escaped(description));
        format!(
            "<svg {attribute}viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{title}</title>\
             <desc id=\"{id}-desc\">{description}</desc>{style}{body}{hovers}</svg>\n"
        )
    }
}

/// Where the names of a legend are, and how many lines they take.
fn placed(legend: &[Series]) -> (Vec<(i32, i32)>, u32) {
    let (mut x, mut line) = (8.0, 0);
    let mut places = Vec::new();
    for Series { name, .. } in legend {
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
fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// A text in lines that a chart has room for, parted between words.
pub(super) fn lines_of(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line) + width_of(" ") + width_of(word) <= f64::from(WIDTH - 12) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
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
    fn text_is_parted_between_words_where_its_line_is_full_and_never_cut() {
        assert_eq!(lines_of("write · warm · udp"), ["write · warm · udp"]);
        let long = "stable storage log before a slow device · transport udp · version 3 · server cache flushed before";
        let lines = lines_of(long);
        assert_eq!((lines.len(), lines.join(" ").as_str()), (2, long));
    }
}
