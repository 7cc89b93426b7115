//! Windows of 8x8 tokens, their four phases, and the two orders of the tokens inside.

use super::Size;

/// Tokens on a window's side.
pub const SIDE: usize = 8;
/// Tokens in a window.
pub const TOKENS: usize = SIDE * SIDE;

/// A window block's phase, 0 to 3: how far its window grid is shifted up and left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Phase(pub u8);

impl Phase {
    /// Shift (x, y) in tokens: phase 0 (0, 0), 1 (4, 4), 2 (4, 0), 3 (0, 4).
    pub fn shift(self) -> (usize, usize) {
        [(0, 0), (4, 4), (4, 0), (0, 4)][usize::from(self.0 % 4)]
    }
}

/// Physical index of natural window token `n` (`y * 8 + x`): 4x4 tiles, row-major inside and among themselves.
pub const fn physical(n: usize) -> usize {
    let (x, y) = (n % SIDE, n / SIDE);
    (y / 4) * 32 + (x / 4) * 16 + (y % 4) * 4 + x % 4
}

/// Natural index of physical window token `p`; the inverse of [`physical`].
pub const fn natural(p: usize) -> usize {
    let (tile, inside) = (p / 16, p % 16);
    let (x, y) = ((tile % 2) * 4 + inside % 4, (tile / 2) * 4 + inside / 4);
    y * SIDE + x
}

/// The windows that cover one plane at one shift. The grid starts at `(-shift_x, -shift_y)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowGrid {
    /// The plane's size in tokens.
    pub size: Size,
    /// How far the grid starts left of and above the plane, in tokens.
    pub shift: (isize, isize),
    /// Windows per row and column.
    pub windows: Size,
}

impl WindowGrid {
    /// The grid of a phase.
    pub fn new(size: Size, phase: Phase) -> Self {
        let (x, y) = phase.shift();
        Self::with_shift(size, (x as isize, y as isize))
    }

    /// The grid of any shift from -7 to 7; the network itself uses only those of [`Phase::shift`].
    pub fn with_shift(size: Size, shift: (isize, isize)) -> Self {
        let count = |side: usize, shift: isize| side.saturating_add_signed(shift).div_ceil(SIDE);
        // A grid that starts inside the plane needs one more window before it to cover the first tokens.
        let lead = |shift: isize| if shift < 0 { shift + SIDE as isize } else { shift };
        let shift = (lead(shift.0), lead(shift.1));
        let windows = Size::new(count(size.width, shift.0), count(size.height, shift.1));
        Self { size, shift, windows }
    }

    /// Number of windows.
    pub fn len(&self) -> usize {
        self.windows.tokens()
    }

    /// Whether the plane is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The plane's token at natural index `n` of a window, or `None` outside the field.
    pub fn token(&self, window: (usize, usize), n: usize) -> Option<usize> {
        let x = (window.0 * SIDE + n % SIDE) as isize - self.shift.0;
        let y = (window.1 * SIDE + n / SIDE) as isize - self.shift.1;
        let inside = (0..self.size.width as isize).contains(&x) && (0..self.size.height as isize).contains(&y);
        inside.then(|| y as usize * self.size.width + x as usize)
    }

    /// The window and the natural index of a plane's token.
    pub fn locate(&self, token: usize) -> ((usize, usize), usize) {
        let x = (token % self.size.width).saturating_add_signed(self.shift.0);
        let y = (token / self.size.width).saturating_add_signed(self.shift.1);
        ((x / SIDE, y / SIDE), (y % SIDE) * SIDE + x % SIDE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_orders_are_inverse_and_tiled() {
        for n in 0..TOKENS {
            assert_eq!(natural(physical(n)), n, "token {n}");
        }
        assert_eq!([0, 1, 4, 8, 32].map(physical), [0, 1, 16, 4, 32], "corners of tiles");
    }

    #[test]
    fn every_token_lies_in_exactly_one_window_of_every_phase() {
        let size = Size::new(20, 12);
        for phase in (0..4).map(Phase) {
            let grid = WindowGrid::new(size, phase);
            let mut seen = vec![0; size.tokens()];
            for window in (0..grid.windows.height).flat_map(|y| (0..grid.windows.width).map(move |x| (x, y))) {
                for n in 0..TOKENS {
                    if let Some(token) = grid.token(window, n) {
                        seen[token] += 1;
                        assert_eq!(grid.locate(token), (window, n), "token {token} in {phase:?}");
                    }
                }
            }
            assert!(seen.iter().all(|&count| count == 1), "{phase:?}");
        }
    }

    #[test]
    fn grids_have_the_counts_of_the_text() {
        let size = Size::new(20, 16);
        let windows = |p| WindowGrid::new(size, Phase(p)).windows;
        assert_eq!([0, 1, 2, 3].map(windows), [(3, 2), (3, 3), (3, 2), (3, 3)].map(|(w, h)| Size::new(w, h)), "20x16");
    }
}
