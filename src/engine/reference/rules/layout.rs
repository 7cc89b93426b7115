//! Outputs that lie in memory in another order than they are read in, and outputs that are only partly written.

use crate::model::fragment;
use crate::numerics::Rules;
use crate::numerics::rules::{Coverage, Layout};
use crate::tensor::Shape;

/// Rows of one tile of tokens, and columns of a padded pitch.
const TILE: usize = 64;

/// Which element of the true tensor a reader of row-major memory finds at a row and channel; `None` for zero
/// bytes that nobody wrote.
pub(crate) fn element(shape: &Shape, (row, channel): (usize, usize), rules: &Rules) -> Option<(usize, usize)> {
    let (w, c, tokens) = (shape.size.width, shape.channels, shape.tokens());
    let linear = row * c + channel;
    let blocks = |block: usize| {
        let (index, inside) = (linear / (tokens * block), linear % (tokens * block));
        (inside / block, index * block + inside % block)
    };
    let tiles = |side: usize| {
        let (tile, inside) = (row / (side * side), row % (side * side));
        let across = w / side;
        let (x, y) = ((tile % across) * side + inside % side, (tile / across) * side + inside / side);
        (y * w + x, channel)
    };
    let (row, channel) = match rules.layout {
        Layout::RowMajor => (row, channel),
        Layout::Tiles4 => tiles(4),
        Layout::Windows8 => tiles(8),
        Layout::ChannelsFirst => (linear % tokens, linear / tokens),
        Layout::Blocks16 => blocks(16),
        Layout::Blocks32 => blocks(32),
        Layout::Transposed => ((row % shape.size.height) * w + row / shape.size.height, channel),
        Layout::Pitch64 => {
            let pitch = w.next_multiple_of(TILE);
            let (x, y) = (row % pitch, row / pitch);
            if x >= w {
                return None;
            }
            (y * w + x, channel)
        }
        Layout::FragmentChannels => (row, fragment::channel(channel)),
    };
    let written = match rules.coverage {
        Coverage::All => true,
        Coverage::FirstHalf => channel < c / 2,
        Coverage::ButLastChannels => channel + 16 < c,
        Coverage::ButLastTokens => row < (tokens - 1) / TILE * TILE,
    };
    written.then_some((row, channel))
}

/// The true rows that have to be computed to know what is read at some rows.
pub(crate) fn rows_behind(shape: &Shape, rows: &[usize], rules: &Rules) -> Vec<usize> {
    let mut behind = vec![false; shape.tokens()];
    let places = rows.iter().flat_map(|&row| (0..shape.channels).map(move |channel| (row, channel)));
    places.filter_map(|place| element(shape, place, rules)).for_each(|(row, _)| behind[row] = true);
    (0..shape.tokens()).filter(|&row| behind[row]).collect()
}

/// The bytes read at `rows`, from the true bytes of the sorted rows `known`.
pub(crate) fn rearrange(shape: &Shape, rows: &[usize], known: &[usize], bytes: &[u8], rules: &Rules) -> Vec<u8> {
    let size = shape.element.bytes();
    let mut out = Vec::with_capacity(rows.len() * shape.channels * size);
    for &row in rows {
        for channel in 0..shape.channels {
            let found = element(shape, (row, channel), rules)
                .and_then(|(row, channel)| Some((known.binary_search(&row).ok()?, channel)));
            match found {
                Some((index, channel)) => {
                    out.extend_from_slice(&bytes[(index * shape.channels + channel) * size..][..size]);
                }
                None => out.extend(std::iter::repeat_n(0, size)),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Size;
    use crate::tensor::Element;
    use std::collections::BTreeSet;

    #[test]
    fn every_layout_is_a_permutation_where_it_fits() {
        let shape = Shape::new(Element::E4m3, Size::new(24, 16), 64);
        let layouts = [
            Layout::RowMajor,
            Layout::Tiles4,
            Layout::Windows8,
            Layout::ChannelsFirst,
            Layout::Blocks16,
            Layout::Blocks32,
            Layout::Transposed,
            Layout::FragmentChannels,
        ];
        for layout in layouts {
            let rules = Rules { layout, ..Rules::EXACT };
            let places = (0..shape.elements()).map(|i| (i / 64, i % 64));
            let seen: BTreeSet<_> = places.filter_map(|place| element(&shape, place, &rules)).collect();
            assert_eq!(seen.len(), shape.elements(), "{layout:?}");
        }
    }
}
