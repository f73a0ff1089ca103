use std::error::Error;

use plotters::prelude::*;

/// Size of a chart in pixels.
const SIZE: (u32, u32) = (960, 480);
/// Space at the left and below for numbers.
const LABEL_PIXELS: u32 = 64;
/// Space around everything.
const MARGIN_PIXELS: u32 = 12;
/// The space above the highest bar, as a factor.
const HEADROOM: f64 = 1.1;
/// Colours of series, which also those tell apart who do not see all colours.
const COLOURS: [RGBColor; 4] =
    [RGBColor(213, 94, 0), RGBColor(0, 114, 178), RGBColor(86, 180, 233), RGBColor(240, 228, 66)];

/// Bars at regular places of an axis, each of several parts on top of one another.
#[derive(Debug, Clone, PartialEq)]
pub struct StackedBars {
    /// Over the chart.
    pub title: String,
    /// Below the axis.
    pub x_title: String,
    /// Beside the bars.
    pub y_title: String,
    /// What the parts are; at most four.
    pub series: Vec<String>,
    /// The parts of each bar, in the order of `series`.
    pub bars: Vec<Vec<f64>>,
    /// The width of a bar on the axis, above 0.
    pub width: f64,
}

/// A chart cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the chart: {0}")]
pub struct ChartError(String);

impl ChartError {
    pub(crate) fn new(error: Box<dyn Error + '_>) -> ChartError {
        ChartError(error.to_string())
    }
}

impl StackedBars {
    /// Draws it as SVG.
    ///
    /// # Errors
    /// When it cannot be drawn, such as with figures that are not finite.
    pub fn to_svg(&self) -> Result<String, ChartError> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(ChartError::new)?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn Error + '_>> {
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let highest = self.bars.iter().map(|bar| bar.iter().sum::<f64>()).fold(0.0, f64::max).max(1.0);
        let end = self.width * self.bars.len().max(1) as f64;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 18))
            .margin(MARGIN_PIXELS)
            .x_label_area_size(LABEL_PIXELS)
            .y_label_area_size(LABEL_PIXELS)
            .build_cartesian_2d(0.0..end, 0.0..highest * HEADROOM)?;
        chart.configure_mesh().x_desc(&self.x_title).y_desc(&self.y_title).disable_x_mesh().draw()?;
        for (index, (name, colour)) in self.series.iter().zip(COLOURS).enumerate() {
            let drawn = chart.draw_series(self.rectangles(index, colour))?;
            let sign = move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled());
            drawn.label(name).legend(sign);
        }
        chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
        area.present()?;
        Ok(())
    }

    /// The parts of a series, each on top of those of earlier series.
    fn rectangles(&self, series: usize, colour: RGBColor) -> impl Iterator<Item = Rectangle<(f64, f64)>> {
        self.bars.iter().enumerate().map(move |(place, bar)| {
            let low: f64 = bar.iter().take(series).sum();
            let high = low + bar.get(series).copied().unwrap_or(0.0);
            let left = place as f64 * self.width;
            Rectangle::new([(left, low), (left + self.width, high)], colour.filled())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_names_and_titles_are_in_the_drawing() {
        let chart = StackedBars {
            title: "a <title>".to_owned(),
            x_title: "seconds".to_owned(),
            y_title: "packets".to_owned(),
            series: ["single", "super"].map(str::to_owned).to_vec(),
            bars: vec![vec![1.0, 2.0], vec![0.0, 4.0], vec![]],
            width: 0.5,
        };
        let svg = chart.to_svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for text in ["a &lt;title&gt;", "seconds", "packets", "single", "super"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // Three bars and the sign of the series, each in the colour of its series.
        assert_eq!(svg.matches("#D55E00").count(), 4, "{svg}");
        let empty = StackedBars { bars: Vec::new(), ..chart };
        assert!(empty.to_svg().unwrap().contains("seconds"));
    }
}
