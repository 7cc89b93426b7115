//! The names of the network's parameters, and the plain form of a weight matrix.

use std::fmt;

/// What a parameter is for. One name for each, in every block that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParameterKind {
    /// f16 16x32: the input adapter (block 0).
    Adapter,
    /// The split FFN's first matrix, 512x512: into eight branches of 64.
    Branch,
    /// FFN matrix up: dense 32x128, expert Cx(128 E), split 8 of 64x256, ViT 1024x4096.
    Expand,
    /// FFN matrix down: dense 128x32, expert E of 128x32, split 8 of 256x64, ViT 4096x1024.
    Contract,
    /// FFN matrix that mixes experts or branches: CxC.
    Mix,
    /// Scale of the FFN's skip, per channel.
    FfnScale,
    /// Cx3C: queries, keys and values.
    Qkv,
    /// Attention prior, per head, query and key.
    Prior,
    /// Learned query scale, per head.
    HeadScale,
    /// CxC: the attention's output projection.
    Project,
    /// Scale of the attention's skip, per channel.
    AttentionScale,
    /// Matrix between two stages: Cx2C down, 2CxC up.
    Transition,
    /// Scale of the decoder's skip at a stage's merge, per channel.
    TransitionScale,
    /// Scale of block 69's output at the post merge.
    InputScale,
    /// Scale of block 0's output at the post merge.
    AdapterScale,
    /// f16 32x4: the head (block 70).
    Head,
    /// One half: the temporal blend (block 70).
    BlendScale,
    /// One half per ViT block that nothing reads.
    Unread,
}

/// One parameter of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameter {
    /// Block 0..=70.
    pub block: usize,
    /// Which of its parameters.
    pub kind: ParameterKind,
}

impl Parameter {
    /// A parameter.
    pub const fn new(block: usize, kind: ParameterKind) -> Self {
        Self { block, kind }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block-{}.{:?}", self.block, self.kind)
    }
}

/// A weight matrix in plain order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Independent matrices: 1, or the number of block-diagonal parts.
    pub groups: usize,
    /// Rows of one part: input channels.
    pub k: usize,
    /// Columns of one part: output channels.
    pub n: usize,
    /// `[group][k][n]` E4M3 codes.
    pub codes: Vec<u8>,
}

impl Matrix {
    /// The code at a row and column of a group.
    pub fn code(&self, group: usize, k: usize, n: usize) -> u8 {
        self.codes[(group * self.k + k) * self.n + n]
    }

    /// One column of a group: the operand that meets an activation row.
    pub fn column(&self, group: usize, n: usize) -> Vec<u8> {
        (0..self.k).map(|k| self.code(group, k, n)).collect()
    }
}
