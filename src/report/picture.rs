//! Small pictures of tensors for reports: the mean of a tensor's channels on both sides, and where they differ.

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

/// Longest side of a picture; larger planes are thinned by whole steps.
const SIDE: usize = 512;

/// Subject, reference and differences of a tensor.
///
/// # Panics
/// When the shapes differ: callers compare first.
pub fn of(subject: &Tensor, reference: &Tensor) -> Vec<Picture> {
    assert_eq!(subject.shape, reference.shape, "{}: compared first", reference.name);
    let (ours, theirs) = (means(subject), means(reference));
    let finite = ours.iter().chain(&theirs).copied().filter(|x| x.is_finite());
    let (low, high) = finite.fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let range = format!("mean over channels, {low:.4} (dark) to {high:.4} (bright)");
    let grey = |values: &[f32]| -> Vec<[u8; 3]> {
        values.iter().map(|x| ramp((x - low) / (high - low).max(f32::MIN_POSITIVE))).collect()
    };
    let different = counts(subject, reference);
    let most = different.iter().copied().max().unwrap_or(0).max(1);
    let heat: Vec<[u8; 3]> = different.iter().map(|&count| heat(count as f32 / most as f32)).collect();
    vec![
        picture("subject", range.clone(), subject, &grey(&ours)),
        picture("reference", range, reference, &grey(&theirs)),
        picture("differences", format!("differing channels per token, 0 (dark) to {most}"), reference, &heat),
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

fn picture(title: &str, caption: String, tensor: &Tensor, colours: &[[u8; 3]]) -> Picture {
    let size = tensor.shape.size;
    let step = size.width.max(size.height).div_ceil(SIDE);
    let (width, height) = (size.width.div_ceil(step), size.height.div_ceil(step));
    let image = image::RgbImage::from_fn(width as u32, height as u32, |x, y| {
        image::Rgb(colours[y as usize * step * size.width + x as usize * step])
    });
    let mut png = Vec::new();
    image.write_to(&mut Cursor::new(&mut png), image::ImageFormat::Png).expect("a picture in memory is written");
    Picture { title: title.to_owned(), caption, width, height, png }
}
