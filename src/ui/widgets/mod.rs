//! The window's own controls and drawings. None knows a session: each takes plain values and says what was done.

mod alignment;
mod bars;
mod bits;
mod button;
mod divider;
mod field;
mod heatmap;
mod keycap;
mod label;
mod segmented;
mod tree;

pub use alignment::{Rounded, alignment, is_cut, rounded, rounding_words};
pub use bars::{Bar, Bars};
pub use bits::{Bits, Field};
pub(super) use button::tooltip;
pub use button::{IconButton, TextButton};
pub use divider::divider;
pub use field::field;
pub use heatmap::{Heatmap, HeatmapResponse, Scale};
pub(super) use heatmap::{hatch, ink_on, quad};
pub use keycap::{key_hint, keys};
pub use label::{chip, empty, fact, one_line, section, term, term_tooltip};
pub use segmented::{Segment, segmented, toggle};
pub use tree::{Tree, TreeNode};
