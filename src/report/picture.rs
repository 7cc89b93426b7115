//! Small pictures of tensors for reports: both sides, where they differ, and the same on the windows and the field.

use crate::geometry::{Size, WindowGrid};
use crate::tensor::Tensor;
use std::io::Cursor;

/// A picture with its words.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Above it.
    pub title: String,
    /// Below it: range and meaning of the colours.
    pub caption: String,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// A PNG file.
    pub png: Vec<u8>,
}

/// What is drawn over the last picture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// Windows of the tensor's block.
    pub grid: Option<WindowGrid>,
    /// The part of the plane that the image covers.
    pub valid: Option<Size>,
}

/// Longest side of a picture: larger planes are thinned by whole steps, smaller ones enlarged by whole factors.
const SIDE: usize = 512;

/// Subject, reference, differences, and differences over the reference with windows and field.
///
/// # Panics
/// When the shapes differ: callers compare first.
pub fn of(subject: &Tensor, reference: &Tensor, marks: Marks) -> Vec<Picture> {
    assert_eq!(subject.shape, reference.shape, "{}: compared first", reference.name);
    let view = View::of(reference.shape.size);
    let (ours, theirs) = (means(subject), means(reference));
    let finite = ours.iter().chain(&theirs).copied().filter(|x| x.is_finite());
    let (low, high) = finite.fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let scaled = |x: f32| (x - low) / (high - low).max(f32::MIN_POSITIVE);
    let range = format!("mean over channels, {low:.4} (dark) to {high:.4} (bright)");
    let different = counts(subject, reference);
    let most = different.iter().copied().max().unwrap_or(0).max(1);
    let hot = |tokens: &mut dyn Iterator<Item = usize>| tokens.map(|t| different[t]).max().unwrap_or(0);
    let side = |values: &[f32]| view.paint(|tokens| ramp(scaled(values[tokens.next().unwrap_or(0)])));
    let heat_map = view.paint(|tokens| heat(hot(tokens) as f32 / most as f32));
    let mut over = view.paint(|tokens| {
        let first = tokens.next().unwrap_or(0);
        let grey = (40.0 + 110.0 * scaled(theirs[first]).clamp(0.0, 1.0)) as u8;
        let count = hot(&mut std::iter::once(first).chain(tokens));
        if count == 0 { [grey; 3] } else { [235, (96.0 * (1.0 - count as f32 / most as f32)) as u8 + 40, 70] }
    });
    view.draw(&mut over, marks);
    let words = match (marks.grid.is_some(), marks.valid.is_some()) {
        (true, true) => "differing tokens in red; the block's windows, and in blue the part that the image covers",
        (true, false) => "differing tokens in red, with the block's windows",
        (false, true) => "differing tokens in red; in blue the part that the image covers",
        (false, false) => "differing tokens in red",
    };
    vec![
        view.picture("subject", range.clone(), &side(&ours)),
        view.picture("reference", range, &side(&theirs)),
        view.picture("differences", format!("differing channels per token, 0 (dark) to {most}"), &heat_map),
        view.picture("overlay", words.to_owned(), &over),
    ]
}

fn means(tensor: &Tensor) -> Vec<f32> {
    let channels = tensor.shape.channels;
    let mean = |token: usize| (0..channels).map(|c| tensor.value(token, c)).sum::<f32>() / channels as f32;
    (0..tensor.shape.tokens()).map(mean).collect()
}

fn counts(subject: &Tensor, reference: &Tensor) -> Vec<usize> {
    let width = reference.shape.element.bytes();
    let differing = |token: usize| {
        let pairs = subject.row(token).chunks(width).zip(reference.row(token).chunks(width));
        pairs.filter(|(s, r)| s != r).count()
    };
    (0..reference.shape.tokens()).map(differing).collect()
}

/// How a plane becomes pixels.
#[derive(Clone, Copy)]
struct View {
    size: Size,
    /// Tokens of one pixel, along each axis.
    step: usize,
    /// Pixels of one token, along each axis.
    zoom: usize,
}

impl View {
    fn of(size: Size) -> Self {
        let longest = size.width.max(size.height).max(1);
        Self { size, step: longest.div_ceil(SIDE), zoom: (SIDE / longest).max(1) }
    }

    fn pixels(&self) -> Size {
        self.size.map(|side| side.div_ceil(self.step) * self.zoom)
    }

    /// A colour for every pixel from the tokens under it: a single one must not be thinned away.
    fn paint(&self, colour: impl Fn(&mut dyn Iterator<Item = usize>) -> [u8; 3]) -> image::RgbImage {
        let (Size { width, height }, step) = (self.size, self.step);
        let cells = self.size.map(|side| side.div_ceil(step));
        let cell = |i: usize| {
            let (left, top) = (i % cells.width * step, i / cells.width * step);
            let row = move |y: usize| (left..(left + step).min(width)).map(move |x| y * width + x);
            colour(&mut (top..(top + step).min(height)).flat_map(row))
        };
        let colours: Vec<[u8; 3]> = (0..cells.tokens()).map(cell).collect();
        let pixels = self.pixels();
        image::RgbImage::from_fn(pixels.width as u32, pixels.height as u32, |x, y| {
            image::Rgb(colours[y as usize / self.zoom * cells.width + x as usize / self.zoom])
        })
    }

    /// Windows as thin lines, the valid part as a frame.
    fn draw(&self, image: &mut image::RgbImage, marks: Marks) {
        let at = |tokens: usize| (tokens / self.step * self.zoom) as u32;
        let (width, height) = image.dimensions();
        // Lines closer than this would be a grey sheet.
        if let Some(grid) = marks.grid.filter(|_| 8 * self.zoom / self.step >= 6) {
            let edges = |shift: isize, side: usize| {
                (0..).map(move |i: isize| i * 8 - shift).skip_while(|&x| x <= 0).take_while(move |&x| x < side as isize)
            };
            for x in edges(grid.shift.0, self.size.width) {
                (0..height).for_each(|y| blend_pixel(image, at(x as usize), y, [255, 255, 255], 0.35));
            }
            for y in edges(grid.shift.1, self.size.height) {
                (0..width).for_each(|x| blend_pixel(image, x, at(y as usize), [255, 255, 255], 0.35));
            }
        }
        let Some(valid) = marks.valid.filter(|valid| *valid != self.size) else { return };
        let (right, bottom) = (at(valid.width).min(width) - 1, at(valid.height).min(height) - 1);
        for y in 0..=bottom {
            blend_pixel(image, right, y, [90, 190, 255], 1.0);
        }
        for x in 0..=right {
            blend_pixel(image, x, bottom, [90, 190, 255], 1.0);
        }
    }

    fn picture(&self, title: &str, caption: String, image: &image::RgbImage) -> Picture {
        let Size { width, height } = self.pixels();
        let mut png = Vec::new();
        image.write_to(&mut Cursor::new(&mut png), image::ImageFormat::Png).expect("a picture in memory is written");
        Picture { title: title.to_owned(), caption, width, height, png }
    }
}

fn blend_pixel(image: &mut image::RgbImage, x: u32, y: u32, colour: [u8; 3], share: f32) {
    if let Some(pixel) = image.get_pixel_mut_checked(x, y) {
        for (old, new) in pixel.0.iter_mut().zip(colour) {
            *old = (f32::from(*old) * (1.0 - share) + f32::from(new) * share) as u8;
        }
    }
}

/// Dark blue over green to yellow: even in lightness, and safe for colour-blind eyes.
fn ramp(x: f32) -> [u8; 3] {
    const STOPS: [[f32; 3]; 5] =
        [[68.0, 1.0, 84.0], [59.0, 82.0, 139.0], [33.0, 145.0, 140.0], [94.0, 201.0, 98.0], [253.0, 231.0, 37.0]];
    blend(&STOPS, x)
}

/// Near black over red to white; nothing differs at all only in the darkest.
fn heat(x: f32) -> [u8; 3] {
    const STOPS: [[f32; 3]; 4] = [[24.0, 26.0, 32.0], [170.0, 40.0, 70.0], [245.0, 150.0, 50.0], [255.0, 250.0, 220.0]];
    // One differing channel must show: everything above zero starts a third of the way up.
    blend(&STOPS, if x == 0.0 { 0.0 } else { 0.33 + 0.67 * x })
}

fn blend(stops: &[[f32; 3]], x: f32) -> [u8; 3] {
    let last = stops.len() - 1;
    let at = if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) } * last as f32;
    let first = (at as usize).min(last - 1);
    std::array::from_fn(|c| {
        let (a, b) = (stops[first][c], stops[first + 1][c]);
        (a + (b - a) * (at - first as f32)) as u8
    })
}
