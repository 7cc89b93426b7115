//! What the window is about: block, step, tensor, channel, token, window, head, query.

use crate::tensor::TensorName;

/// A token by its place on its plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Token {
    /// Column.
    pub x: usize,
    /// Row.
    pub y: usize,
}

impl Token {
    /// Its index on a plane of this width.
    pub fn index(self, width: usize) -> usize {
        self.y * width + self.x
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

/// What the window is about. Always valid for the session's plan.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Selection {
    /// The selected step's block.
    pub block: usize,
    /// The selected step of the plan.
    pub step: usize,
    /// The tensor shown: an output of the step, unless one was chosen by name.
    #[serde(with = "super::name_text")]
    pub tensor: TensorName,
    /// The channel of single-channel pictures, probes and traces.
    pub channel: usize,
    /// The channels of RGB pictures.
    pub rgb: [usize; 3],
    /// The selected token.
    pub token: Option<Token>,
    /// The token under the pointer.
    pub hover: Option<Token>,
    /// The window of the attention tab, on the grid of the block's phase. Follows the token.
    pub window: (usize, usize),
    /// The head of the attention tab.
    pub head: usize,
    /// The query of the attention tab: natural index inside the window, or a token of level 5 in the ViT.
    pub query: usize,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            block: 0,
            step: 0,
            tensor: TensorName::new("features"),
            channel: 0,
            rgb: [0, 1, 2],
            token: None,
            hover: None,
            window: (0, 0),
            head: 0,
            query: 0,
        }
    }
}
