//! Veils over a picture: which tokens differ, and which of them a tested cause explains.
//!
//! A veil must not hide what it lies on. Borders of differing regions are strong and their insides faint, and all of
//! it grows fainter the more of the plane differs: where nearly everything does, the picture is what is left to see.

use super::afar::{Blend, halves};
use super::picture::{Fate, Mask, Veil};
use crate::geometry::Size;
use crate::tensor::{Tensor, TensorName};
use rayon::prelude::*;

/// A colour and an alpha as a premultiplied pixel.
fn pixel([r, g, b]: [u8; 3], alpha: f32) -> [u8; 4] {
    let part = |c: u8| (f32::from(c) * alpha + 0.5) as u8;
    [part(r), part(g), part(b), part(255)]
}

/// How strong the border and the inside of a region are when so many tokens of a plane are in one.
fn strengths(share: f32) -> (f32, f32) {
    (0.85 - 0.45 * share, 0.42 - 0.36 * share.sqrt())
}

/// A veil over the tokens of a class, by number; class 0 is clear.
fn veil(
    size: Size,
    id: u64,
    class: impl Fn(usize) -> u8 + Sync,
    colour: impl Fn(u8) -> [u8; 3] + Sync,
) -> Option<Veil> {
    let tokens = size.tokens();
    let all = || (0..tokens).into_par_iter().with_min_len(4096);
    let covered = all().filter(|&token| class(token) != 0).count();
    if covered == 0 {
        return None;
    }
    let (edge, inside) = strengths(covered as f32 / tokens as f32);
    let one = |token: usize| {
        let own = class(token);
        if own == 0 {
            return [0; 4];
        }
        let (x, y) = (token % size.width, token / size.width);
        let other = |there: bool, token: usize| there && class(token) != own;
        let border = other(x > 0, token.wrapping_sub(1))
            || other(x + 1 < size.width, token + 1)
            || other(y > 0, token.wrapping_sub(size.width))
            || other(y + 1 < size.height, token + size.width);
        pixel(colour(own), if border { edge } else { inside })
    };
    let pixels: Vec<[u8; 4]> = all().map(one).collect();
    let reduced = halves(size, &pixels, Blend::Strongest([0; 4]));
    Some(Veil { id, pixels, reduced })
}

/// Over what differs; white, for the theme to colour.
pub(super) fn differing(size: Size, counts: &[u16], id: u64) -> Option<Veil> {
    let class = |token: usize| u8::from(counts.get(token).is_some_and(|&count| count > 0));
    veil(size, id, class, |_| [255; 3])
}

/// Over what a tested cause changed: green explained, orange not, yellow newly wrong.
pub(super) fn explained(mask: &Mask, id: u64) -> Option<Veil> {
    let colour = |class: u8| match class {
        1 => [0x2f, 0xbf, 0x9b],
        2 => [0xf2, 0x69, 0x3e],
        _ => [0xf0, 0xc5, 0x4a],
    };
    veil(mask.size, id, |token| mask.tokens.get(token).map_or(0, |fate| *fate as u8), colour)
}

/// What became of each token: `subject` and `exact` as they were observed, `tried` with the cause switched on.
pub(super) fn mask(name: &TensorName, subject: &Tensor, exact: &Tensor, tried: &Tensor) -> Option<Mask> {
    let shape = exact.shape;
    if subject.shape != shape || tried.shape != shape {
        return None;
    }
    let width = shape.element.bytes();
    let fate = |token: usize| {
        let (s, e, t) = (subject.row(token), exact.row(token), tried.row(token));
        if s == e && t == e {
            return Fate::Equal;
        }
        let elements = s.chunks(width).zip(e.chunks(width)).zip(t.chunks(width));
        let fates = elements.map(|((s, e), t)| match (s == e, t == s) {
            (true, true) => Fate::Equal,
            (true, false) => Fate::NewlyWrong,
            (false, true) => Fate::Explained,
            (false, false) => Fate::Unexplained,
        });
        fates.max().unwrap_or_default()
    };
    Some(Mask { tensor: name.clone(), size: shape.size, tokens: (0..shape.tokens()).map(fate).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Bytes, Element, Shape};

    #[test]
    fn a_veil_is_strong_at_borders_and_faint_where_everything_differs() {
        let size = Size::new(8, 8);
        let region = |token: usize| u16::from(token % 8 < 4);
        let half: Vec<u16> = (0..64).map(region).collect();
        let veil = differing(size, &half, 1).unwrap();
        assert_eq!(veil.pixels[7], [0; 4], "equal tokens are clear");
        assert!(veil.pixels[3][3] > 2 * veil.pixels[1][3], "the border stands out: {:?}", &veil.pixels[..4]);
        let all = differing(size, &[1; 64], 2).unwrap();
        assert!(all.pixels[9][3] < 40, "everything differs, and the picture is seen: {:?}", all.pixels[9]);
        assert_eq!(differing(size, &[0; 64], 3), None, "nothing differs");
    }

    #[test]
    fn a_mask_tells_explained_unexplained_and_newly_wrong_apart() {
        let shape = Shape { size: Size::new(4, 1), channels: 2, element: Element::E4m3 };
        let name = TensorName::new("t");
        let tensor = |codes: [u8; 8]| Tensor::new(name.clone(), shape, Bytes::copy(&codes)).unwrap();
        let exact = tensor([1, 1, 1, 1, 1, 1, 1, 1]);
        let subject = tensor([1, 1, 2, 1, 2, 2, 1, 1]);
        let tried = tensor([1, 1, 2, 1, 2, 1, 3, 1]);
        let mask = mask(&name, &subject, &exact, &tried).unwrap();
        assert_eq!(mask.tokens, [Fate::Equal, Fate::Explained, Fate::Unexplained, Fate::NewlyWrong], "token by token");
    }
}
