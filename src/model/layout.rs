//! Where every parameter lies: the 153 records of the model directory and the regions inside them.
//!
//! The one list that reader, generator and plan share. Offsets are in bytes inside a record.

use super::{Parameter, ParameterKind};
use std::collections::BTreeMap;
use std::sync::OnceLock;

use ParameterKind::{
    Adapter, AdapterScale, AttentionScale, BlendScale, Branch, Contract, Expand, FfnScale, Head, HeadScale, InputScale,
    Mix, Prior, Project, Qkv, Transition, TransitionScale, Unread,
};

/// Number of blocks.
pub const BLOCKS: usize = 71;

/// First and last block of each stage file `s00` to `s10`.
pub const STAGES: [(usize, usize); 11] =
    [(0, 4), (5, 8), (9, 14), (15, 22), (23, 30), (31, 34), (35, 38), (39, 47), (48, 55), (56, 61), (62, 70)];

/// What a region holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// FP8 matrices back to back, each in fragment order. Experts that share their input count as one matrix
    /// only after unpacking: here every stored matrix is a group.
    Fp8 {
        /// Number of matrices.
        groups: usize,
        /// Rows of one.
        k: usize,
        /// Columns of one.
        n: usize,
    },
    /// An f16 matrix in fragment order, columns padded to 16.
    HalfMatrix {
        /// Rows.
        k: usize,
        /// Columns.
        n: usize,
    },
    /// A vector of halves.
    Halves(usize),
    /// 64x64 halves for each head, in fragment order.
    Prior {
        /// Number of heads.
        heads: usize,
    },
    /// One single per head, the whole padded to 16 bytes.
    HeadScales(usize),
}

impl Contents {
    /// Length in bytes, padding included.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Fp8 { groups, k, n } => groups * k * n,
            Self::HalfMatrix { k, n } => k * n.next_multiple_of(16) * 2,
            Self::Halves(n) => n * 2,
            Self::Prior { heads } => heads * 8192,
            Self::HeadScales(n) => (n * 4).next_multiple_of(16),
        }
    }
}

/// One parameter inside a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Which parameter.
    pub kind: ParameterKind,
    /// First byte inside the record.
    pub offset: usize,
    /// What lies there.
    pub contents: Contents,
}

/// One record of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLayout {
    /// `block<B>.layer<L>.<parameter>`.
    pub name: String,
    /// Block 0..=70.
    pub block: usize,
    /// Layer inside the block.
    pub layer: usize,
    /// `layer`, or `blend_scale`.
    pub parameter: &'static str,
    /// Stage file 0..=10.
    pub stage: usize,
    /// Length in bytes.
    pub length: usize,
    /// Its parameters, in offset order.
    pub regions: Vec<Region>,
}

/// How a block's feed-forward part and attention are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// 32 channels, one FFN.
    Dense,
    /// 64 to 256 channels, one FFN path for each 32 channels.
    Expert,
    /// 512 channels, eight branches.
    Split,
    /// 1024 channels, global attention.
    Vit,
    /// Block 39: the way out of the ViT.
    Bridge,
}

/// Kind and channel count of a block.
pub const fn block_kind(block: usize) -> (BlockKind, usize) {
    match block {
        0..=4 | 66..=70 => (BlockKind::Dense, 32),
        5..=8 | 62..=65 => (BlockKind::Expert, 64),
        9..=14 | 56..=61 => (BlockKind::Expert, 128),
        15..=22 | 48..=55 => (BlockKind::Expert, 256),
        23..=30 | 40..=47 => (BlockKind::Split, 512),
        31..=38 => (BlockKind::Vit, 1024),
        _ => (BlockKind::Bridge, 512),
    }
}

/// All records: blocks ascending, layers ascending.
pub fn records() -> &'static [RecordLayout] {
    static RECORDS: OnceLock<Vec<RecordLayout>> = OnceLock::new();
    RECORDS.get_or_init(|| (0..BLOCKS).flat_map(block_records).collect())
}

/// The record and region of a parameter, if its block has it.
pub fn find(parameter: Parameter) -> Option<(String, Region)> {
    static INDEX: OnceLock<BTreeMap<Parameter, (String, Region)>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let regions = |record: &'static RecordLayout| {
            let entry = |r: &Region| (Parameter::new(record.block, r.kind), (record.name.clone(), *r));
            record.regions.iter().map(entry)
        };
        records().iter().flat_map(regions).collect()
    });
    index.get(&parameter).cloned()
}

/// Builds one record region by region.
struct Builder {
    regions: Vec<Region>,
    length: usize,
}

impl Builder {
    fn new() -> Self {
        Self { regions: Vec::new(), length: 0 }
    }

    fn with(mut self, kind: ParameterKind, contents: Contents) -> Self {
        self.regions.push(Region { kind, offset: self.length, contents });
        self.length += contents.bytes();
        self
    }

    fn fp8(self, kind: ParameterKind, groups: usize, k: usize, n: usize) -> Self {
        self.with(kind, Contents::Fp8 { groups, k, n })
    }

    fn scale(self, kind: ParameterKind, channels: usize) -> Self {
        self.with(kind, Contents::Halves(channels))
    }

    fn pad(mut self, bytes: usize) -> Self {
        self.length += bytes;
        self
    }

    fn record(self, block: usize, layer: usize, parameter: &'static str) -> RecordLayout {
        let stage = STAGES.iter().position(|&(_, last)| block <= last).expect("stages cover all blocks");
        let name = format!("block{block}.layer{layer}.{parameter}");
        RecordLayout { name, block, layer, parameter, stage, length: self.length, regions: self.regions }
    }
}

fn block_records(block: usize) -> Vec<RecordLayout> {
    match block_kind(block) {
        (BlockKind::Dense | BlockKind::Expert, channels) => window_records(block, channels),
        (BlockKind::Split, _) => split_records(block),
        (BlockKind::Vit, _) => vit_records(block),
        (BlockKind::Bridge, _) => {
            vec![Builder::new().fp8(Transition, 1, 1024, 512).scale(TransitionScale, 512).record(block, 0, "layer")]
        }
    }
}

fn window_records(block: usize, c: usize) -> Vec<RecordLayout> {
    let dense = c == 32;
    let pad = if dense { 16 } else { 0 };
    let ffn = if dense {
        Builder::new().fp8(Expand, 1, 32, 128).fp8(Contract, 1, 128, 32)
    } else {
        Builder::new().fp8(Expand, c / 32, c, 128).fp8(Contract, c / 32, 128, 32).fp8(Mix, 1, c, c)
    };
    let scaled = match block {
        0 => ffn.pad(16).with(Adapter, Contents::HalfMatrix { k: 16, n: 32 }).scale(FfnScale, c).pad(16),
        48 | 56 | 62 | 66 => {
            ffn.fp8(Transition, 1, 2 * c, c).pad(pad).scale(FfnScale, c).pad(pad).scale(TransitionScale, c)
        }
        70 => ffn.pad(16).scale(FfnScale, c).scale(InputScale, c).scale(AdapterScale, c),
        _ => ffn.pad(16).scale(FfnScale, c).pad(16),
    };
    let attention = scaled
        .fp8(Qkv, 1, c, 3 * c)
        .with(Prior, Contents::Prior { heads: c / 32 })
        .with(HeadScale, Contents::HeadScales(c / 32))
        .fp8(Project, 1, c, c)
        .scale(AttentionScale, c);
    let whole = match block {
        4 | 8 | 14 | 22 => attention.fp8(Transition, 1, c, 2 * c),
        70 => attention.pad(16).with(Head, Contents::HalfMatrix { k: 32, n: 4 }),
        _ => attention.pad(16),
    };
    let mut records = vec![whole.record(block, 0, "layer")];
    if block == 70 {
        records.push(Builder::new().scale(BlendScale, 1).record(70, 0, "blend_scale"));
    }
    records
}

fn split_records(block: usize) -> Vec<RecordLayout> {
    let mut layers = vec![
        Builder::new().fp8(Branch, 1, 512, 512).fp8(Expand, 8, 64, 256).fp8(Contract, 8, 256, 64),
        Builder::new().fp8(Mix, 1, 512, 512).scale(FfnScale, 512),
        Builder::new()
            .fp8(Qkv, 1, 512, 1536)
            .with(Prior, Contents::Prior { heads: 16 })
            .with(HeadScale, Contents::HeadScales(16)),
        Builder::new().fp8(Project, 1, 512, 512).scale(AttentionScale, 512),
    ];
    if block == 30 {
        layers.push(Builder::new().fp8(Transition, 1, 512, 1024));
    }
    numbered(block, layers)
}

fn vit_records(block: usize) -> Vec<RecordLayout> {
    let layers = vec![
        Builder::new().fp8(Expand, 1, 1024, 4096),
        Builder::new().fp8(Contract, 1, 4096, 1024).scale(FfnScale, 1024),
        Builder::new().with(HeadScale, Contents::HeadScales(32)).fp8(Qkv, 1, 1024, 3072),
        Builder::new().scale(Unread, 1),
        Builder::new().fp8(Project, 1, 1024, 1024).scale(AttentionScale, 1024),
    ];
    numbered(block, layers)
}

fn numbered(block: usize, layers: Vec<Builder>) -> Vec<RecordLayout> {
    layers.into_iter().enumerate().map(|(layer, builder)| builder.record(block, layer, "layer")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_published_count_lengths_and_offsets() {
        assert_eq!(records().len(), 153, "records");
        let length = |name: &str| records().iter().find(|r| r.name == name).map(|r| r.length);
        assert_eq!(length("block0.layer0.layer"), Some(21_696), "block 0");
        assert_eq!(length("block70.layer0.layer"), Some(21_808), "block 70");
        let offset = |block, kind| find(Parameter::new(block, kind)).map(|(_, r)| r.offset);
        assert_eq!(offset(0, Adapter), Some(8208), "adapter");
        assert_eq!(offset(0, Qkv), Some(9312), "qkv of block 0");
        assert_eq!(offset(0, AttentionScale), Some(21_616), "attention scale of block 0");
        assert_eq!(offset(70, AdapterScale), Some(8336), "adapter scale");
        assert_eq!(offset(70, HeadScale), Some(19_664), "head scale of block 70");
        assert_eq!(offset(70, Head), Some(20_784), "head");
    }

    #[test]
    fn stages_have_the_published_lengths() {
        let published = [
            106_416, 255_216, 1_215_856, 5_644_912, 16_269_824, 50_348_608, 50_348_608, 16_270_848, 5_645_408,
            1_216_096, 361_938,
        ];
        for (stage, expected) in published.into_iter().enumerate() {
            let end = |end: usize, r: &RecordLayout| end.next_multiple_of(16) + r.length;
            assert_eq!(records().iter().filter(|r| r.stage == stage).fold(0, end), expected, "stage {stage}");
        }
    }
}
