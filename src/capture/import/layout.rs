//! Where an element of a tensor lies in a dump.
//!
//! Every layout here is separable: an element's index is the sum of a number that only its token decides and one that
//! only its channel decides. A permutation of channels changes the second alone, so that it can be recovered on top of
//! any order.

use crate::geometry::{Phase, Size, WindowGrid, window};
use crate::tensor::Shape;
use std::fmt;

/// The order in which a dump lists tokens and channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// `[y][x][channel]`, the plan's own.
    RowMajor,
    /// `[channel][y][x]`.
    ChannelsFirst,
    /// `[channel / 16][y][x][16]`.
    ChannelBlocks16,
    /// `[channel / 32][y][x][32]`.
    HeadMajor,
    /// `[x][y][channel]`.
    Transposed,
    /// `[channel][x][y]`: a Fortran-order array.
    TransposedChannelsFirst,
    /// 4x4 tiles of tokens, row-major inside and among themselves.
    Tiles4x4,
    /// 8x8 window records of one phase, tokens outside the field included, row-major inside.
    Windows8x8,
    /// As before, the tokens of a window in 4x4 tiles.
    Windows8x8Tiled,
    /// `[window][channel / 32][64][32]`.
    Windows8x8HeadMajor,
}

impl Order {
    /// Every order, from plain to intricate: of two that explain a dump alike the first is taken.
    pub const ALL: [Self; 10] = [
        Self::RowMajor,
        Self::ChannelsFirst,
        Self::ChannelBlocks16,
        Self::HeadMajor,
        Self::Tiles4x4,
        Self::Windows8x8,
        Self::Windows8x8Tiled,
        Self::Windows8x8HeadMajor,
        Self::Transposed,
        Self::TransposedChannelsFirst,
    ];

    /// Its word, as in the sidecar.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RowMajor => "row-major",
            Self::ChannelsFirst => "channels-first",
            Self::ChannelBlocks16 => "channel-blocks16",
            Self::HeadMajor => "head-major",
            Self::Transposed => "transposed",
            Self::TransposedChannelsFirst => "transposed-channels-first",
            Self::Tiles4x4 => "tiles4x4",
            Self::Windows8x8 => "windows8x8",
            Self::Windows8x8Tiled => "windows8x8-tiled",
            Self::Windows8x8HeadMajor => "windows8x8-head-major",
        }
    }

    /// Channels that lie together.
    const fn group(self) -> Option<usize> {
        match self {
            Self::ChannelBlocks16 => Some(16),
            Self::HeadMajor | Self::Windows8x8HeadMajor => Some(32),
            _ => None,
        }
    }

    /// Whether columns come before rows.
    pub(super) const fn is_turned(self) -> bool {
        matches!(self, Self::Transposed | Self::TransposedChannelsFirst)
    }

    const fn is_windows(self) -> bool {
        matches!(self, Self::Windows8x8 | Self::Windows8x8Tiled | Self::Windows8x8HeadMajor)
    }

    /// Elements of one row of tokens, where rows may be padded.
    fn row(self, size: Size, channels: usize) -> Option<usize> {
        match self {
            Self::RowMajor => Some(size.width * channels),
            Self::ChannelsFirst => Some(size.width),
            Self::ChannelBlocks16 | Self::HeadMajor => self.group().map(|group| size.width * group),
            _ => None,
        }
    }

    /// Rows in the whole dump.
    fn rows(self, size: Size, channels: usize) -> usize {
        match self {
            Self::RowMajor => size.height,
            Self::ChannelsFirst => channels * size.height,
            _ => self.group().map_or(size.height, |group| channels / group * size.height),
        }
    }

    /// The extents that an array of this order has, slowest first.
    fn extents(self, size: Size, channels: usize, phase: u8) -> Vec<usize> {
        let Size { width: w, height: h } = size;
        let windows = WindowGrid::new(size, Phase(phase)).len();
        match self {
            Self::RowMajor => vec![h, w, channels],
            Self::ChannelsFirst => vec![channels, h, w],
            Self::ChannelBlocks16 => vec![channels / 16, h, w, 16],
            Self::HeadMajor => vec![channels / 32, h, w, 32],
            Self::Transposed => vec![w, h, channels],
            Self::TransposedChannelsFirst => vec![channels, w, h],
            Self::Tiles4x4 => vec![h.div_ceil(4), w.div_ceil(4), 4, 4, channels],
            Self::Windows8x8 | Self::Windows8x8Tiled => vec![windows, 64, channels],
            Self::Windows8x8HeadMajor => vec![windows, channels / 32, 64, 32],
        }
    }

    /// Whether an array's extents speak for this order: the same groups, merged or split only among neighbours of
    /// tokens, and extents of 1 left out.
    pub(super) fn suits(self, extents: &[usize], size: Size, channels: usize, phase: u8) -> bool {
        let bare = |list: &[usize]| list.iter().copied().filter(|&n| n != 1).collect::<Vec<_>>();
        let own = bare(&self.extents(size, channels, phase));
        let found = bare(extents);
        let merged = match self {
            Self::RowMajor | Self::Transposed => vec![size.tokens(), channels],
            Self::ChannelsFirst | Self::TransposedChannelsFirst => vec![channels, size.tokens()],
            Self::ChannelBlocks16 => vec![channels / 16, size.tokens(), 16],
            Self::HeadMajor => vec![channels / 32, size.tokens(), 32],
            Self::Tiles4x4 => vec![size.map(|n| n.div_ceil(4)).tokens(), 16, channels],
            _ => own.clone(),
        };
        found == own || found == bare(&merged)
    }
}

/// Order, padding and permutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The order.
    pub order: Order,
    /// Phase of the window grid, where there are windows.
    pub phase: u8,
    /// Bytes from one row of tokens to the next, where they are padded.
    pub pitch: Option<usize>,
    /// Channel `c` of the tensor is channel `permutation[c]` of the dump.
    pub permutation: Option<Vec<usize>>,
}

impl Layout {
    /// A packed layout with channels in their order.
    pub const fn plain(order: Order, phase: u8) -> Self {
        Self { order, phase, pitch: None, permutation: None }
    }

    /// Places of the elements of a tensor, or why it cannot lie so.
    ///
    /// # Errors
    /// When channels do not divide, the pitch is too short, or the permutation is none.
    pub fn places(&self, shape: Shape, element_bytes: usize) -> Result<Places, String> {
        let (size, channels) = (shape.size, shape.channels);
        if let Some(group) = self.order.group().filter(|group| !channels.is_multiple_of(*group)) {
            return Err(format!("{} needs a multiple of {group} channels, found {channels}", self.order.name()));
        }
        if self.phase > 3 {
            return Err(format!("expected a phase of 0 to 3, found {}", self.phase));
        }
        let row = self.order.row(size, channels);
        let pitch = match (self.pitch, row) {
            (None, row) => row.unwrap_or(0),
            (Some(_), None) => return Err(format!("{} has no rows to pad; leave out \"pitch\"", self.order.name())),
            (Some(pitch), Some(row)) if pitch.is_multiple_of(element_bytes) && pitch / element_bytes >= row => {
                pitch / element_bytes
            }
            (Some(pitch), Some(row)) => {
                let (least, unit) = (row * element_bytes, element_bytes);
                return Err(format!("expected a pitch of at least {least} bytes, a multiple of {unit}; found {pitch}"));
            }
        };
        if let Some(list) = &self.permutation {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..channels) {
                return Err(format!("expected a permutation of 0 to {}, found another list", channels - 1));
            }
        }
        let grid = WindowGrid::new(size, Phase(self.phase));
        let len = match self.order {
            Order::Tiles4x4 => size.map(|n| n.next_multiple_of(4)).tokens() * channels,
            order if order.is_windows() => grid.len() * window::TOKENS * channels,
            order => row.map_or(size.tokens() * channels, |_| order.rows(size, channels) * pitch),
        };
        let last = row.map_or(len, |row| len - pitch + row);
        let places = Places { layout: self.clone(), size, channels, pitch, grid, len, last };
        Ok(places)
    }

    /// Every layout in which a dump of so many bytes can hold a tensor. Two that are the same for its shape count
    /// once.
    pub fn fitting(shape: Shape, element_bytes: usize, bytes: usize) -> Vec<Self> {
        let mut found: Vec<(Self, Vec<usize>)> = Vec::new();
        let phases = |order: Order| if order.is_windows() { 0..4 } else { 0..1 };
        for order in Order::ALL {
            for phase in phases(order) {
                let plain = Self::plain(order, phase);
                let Ok(places) = plain.places(shape, element_bytes) else { continue };
                let fitting = if places.fits(bytes, element_bytes) {
                    vec![plain]
                } else {
                    let padded = padded(order, shape, element_bytes, bytes);
                    padded.into_iter().map(|pitch| Self { pitch: Some(pitch), ..plain.clone() }).collect()
                };
                for layout in fitting {
                    let Ok(places) = layout.places(shape, element_bytes) else { continue };
                    let print = places.fingerprint();
                    if !found.iter().any(|(_, known)| *known == print) {
                        found.push((layout, print));
                    }
                }
            }
        }
        found.into_iter().map(|(layout, _)| layout).collect()
    }
}

/// Pitches in bytes that make a dump's size: with the last row padded, or cut behind its last token.
fn padded(order: Order, shape: Shape, element_bytes: usize, bytes: usize) -> Vec<usize> {
    let Some(row) = order.row(shape.size, shape.channels).map(|row| row * element_bytes) else { return Vec::new() };
    let rows = order.rows(shape.size, shape.channels);
    let whole = bytes.is_multiple_of(rows).then(|| bytes / rows);
    let cut = (rows > 1).then(|| bytes.checked_sub(row)).flatten();
    let cut = cut.filter(|rest| rest.is_multiple_of(rows - 1)).map(|rest| rest / (rows - 1));
    // Padding aligns rows, so it is less than a row (or a large alignment), and a multiple of something.
    let plausible = |pitch: &usize| {
        *pitch > row && *pitch < (2 * row).max(row + 1024) && pitch.is_multiple_of(16.max(element_bytes))
    };
    whole.into_iter().chain(cut).filter(plausible).collect()
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.order.name())?;
        if self.order.is_windows() {
            write!(f, " of phase {}", self.phase)?;
        }
        if let Some(pitch) = self.pitch {
            write!(f, ", pitch {pitch} bytes")?;
        }
        if let Some(list) = &self.permutation {
            let moved = list.iter().enumerate().filter(|(c, p)| c != *p).count();
            write!(f, ", {moved} of {} channels permuted", list.len())?;
        }
        Ok(())
    }
}

/// A layout of one tensor: from token and channel to the element of the dump.
#[derive(Clone, Debug)]
pub struct Places {
    layout: Layout,
    size: Size,
    channels: usize,
    pitch: usize,
    grid: WindowGrid,
    len: usize,
    last: usize,
}

impl Places {
    /// Elements of the whole dump.
    pub const fn elements(&self) -> usize {
        self.len
    }

    /// Whether a dump of so many bytes holds it.
    pub const fn fits(&self, bytes: usize, element_bytes: usize) -> bool {
        bytes == self.len * element_bytes || bytes == self.last * element_bytes
    }

    /// What a token contributes to the index.
    pub fn token(&self, token: usize) -> usize {
        let Size { width, height } = self.size;
        let (x, y, c) = (token % width, token / width, self.channels);
        match self.layout.order {
            Order::RowMajor => y * self.pitch + x * c,
            Order::ChannelsFirst => y * self.pitch + x,
            Order::ChannelBlocks16 => y * self.pitch + x * 16,
            Order::HeadMajor => y * self.pitch + x * 32,
            Order::Transposed => (x * height + y) * c,
            Order::TransposedChannelsFirst => x * height + y,
            Order::Tiles4x4 => (((y / 4) * width.div_ceil(4) + x / 4) * 16 + (y % 4) * 4 + x % 4) * c,
            Order::Windows8x8 | Order::Windows8x8Tiled | Order::Windows8x8HeadMajor => {
                let ((wx, wy), inside) = self.grid.locate(token);
                let record = (wy * self.grid.windows.width + wx) * window::TOKENS * c;
                record
                    + match self.layout.order {
                        Order::Windows8x8 => inside * c,
                        Order::Windows8x8Tiled => window::physical(inside) * c,
                        _ => inside * 32,
                    }
            }
        }
    }

    /// What a channel of the tensor contributes.
    pub fn channel(&self, channel: usize) -> usize {
        self.slot(self.layout.permutation.as_ref().map_or(channel, |list| list[channel]))
    }

    /// What a channel of the dump contributes.
    pub(super) fn slot(&self, slot: usize) -> usize {
        let rows = self.size.height * self.pitch;
        match self.layout.order {
            Order::RowMajor | Order::Transposed | Order::Tiles4x4 | Order::Windows8x8 | Order::Windows8x8Tiled => slot,
            Order::ChannelsFirst => slot * rows,
            Order::ChannelBlocks16 => slot / 16 * rows + slot % 16,
            Order::HeadMajor => slot / 32 * rows + slot % 32,
            Order::TransposedChannelsFirst => slot * self.size.tokens(),
            Order::Windows8x8HeadMajor => slot / 32 * window::TOKENS * 32 + slot % 32,
        }
    }

    /// Places of a few tokens and of all channels: equal for layouts that are the same.
    fn fingerprint(&self) -> Vec<usize> {
        let tokens = self.size.tokens();
        let step = (tokens / 977).max(1);
        let sample = (0..tokens).step_by(step).chain(0..tokens.min(self.size.width * 9));
        sample.map(|t| self.token(t)).chain((0..self.channels).map(|c| self.channel(c))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Element;

    #[test]
    fn every_layout_puts_every_element_at_a_place_of_its_own() {
        let shape = Shape::new(Element::E4m3, Size::new(12, 20), 64);
        for order in Order::ALL {
            for phase in 0..if order.is_windows() { 4 } else { 1 } {
                for pad in [0, 16] {
                    let row = order.row(shape.size, shape.channels);
                    let pitch = row.filter(|_| pad > 0).map(|row| (row + pad).next_multiple_of(16));
                    let layout = Layout { pitch, ..Layout::plain(order, phase) };
                    let places = layout.places(shape, 1).expect("it divides");
                    let mut taken = vec![false; places.elements()];
                    for token in 0..shape.tokens() {
                        for channel in 0..shape.channels {
                            let at = places.token(token) + places.channel(channel);
                            assert!(!std::mem::replace(&mut taken[at], true), "{layout}: {token}, {channel}");
                        }
                    }
                    let found = Layout::fitting(shape, 1, places.elements());
                    assert!(found.contains(&layout), "{layout} is a candidate of {found:?}");
                }
            }
        }
    }

    #[test]
    fn layouts_that_are_the_same_count_once() {
        let shape = Shape::new(Element::E4m3, Size::new(8, 8), 32);
        let found = Layout::fitting(shape, 1, shape.bytes());
        assert!(found.iter().all(|l| l.order != Order::HeadMajor), "32 channels are one head: {found:?}");
        assert!(found.iter().all(|l| l.phase == 0), "other phases have more windows: {found:?}");
        assert!(found.iter().all(|l| !l.order.is_windows()), "one window is the plane, or its tiles: {found:?}");
    }
}
