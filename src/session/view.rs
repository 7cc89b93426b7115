//! How the selection is shown: everything that undo takes back and a saved session restores.

use super::words::words;
use crate::session::Side;
use std::collections::BTreeSet;

words! {
    /// What the canvas draws.
    Mode {
        #[default] Subject = "subject", "The subject's tensor";
        Reference = "reference", "The reference's tensor";
        Difference = "difference", "Where and how far the two differ";
        Split = "split", "Subject left of a divider, reference right of it";
        SideBySide = "side-by-side", "Both, with one zoom";
        Flick = "flick", "Subject and reference in turn";
    }
}

words! {
    /// Which image the canvas is about.
    Image {
        #[default] Tensor = "tensor", "The selected tensor";
        Head = "head", "The network's f32 output";
        Output = "output", "The composed output image beside the input image";
    }
}

words! {
    /// Which of the subject's two results is shown.
    Basis {
        #[default] Accumulated = "accumulated", "On its own previous result, as in a real frame";
        Isolated = "isolated", "On the reference's inputs, so that one bad kernel shows alone";
    }
}

words! {
    /// How a token's channels become one value or colour.
    Reduction {
        #[default] Channel = "channel", "One channel";
        Rgb = "rgb", "Three channels as red, green and blue";
        Mean = "mean", "Mean of all channels";
        Max = "max", "Largest magnitude of all channels";
        L2 = "l2", "Square root of the sum of squares";
        Codes = "codes", "How many distinct codes a token's channels hold";
    }
}

words! {
    /// A colour map.
    ColourMap {
        #[default] Auto = "auto", "Diverging for signed values, perceptual for the rest";
        Viridis = "viridis", "Perceptual, dark to bright";
        Magma = "magma", "Perceptual, black to cream";
        Grey = "grey", "Black to white";
        Diverging = "diverging", "Blue below zero, orange above";
    }
}

words! {
    /// What a difference picture measures.
    Difference {
        #[default] Code = "code", "Signed distance in codes";
        Value = "value", "Difference of the values";
        Class = "class", "The class of each difference: \u{b1}0, NaN, saturation, one code, several";
    }
}

words! {
    /// A layer drawn over the picture.
    Overlay {
        #[default] Windows = "windows", "The window grid of the block's phase";
        Valid = "valid", "The valid rectangle inside the padded field";
        Tiles = "tiles", "4x4 tiles: the physical order inside a window";
        Outside = "outside", "Parts of windows that lie outside the field";
        Mismatches = "mismatches", "Tokens that differ";
        Nan = "nan", "NaN published as +0";
        MinusZero = "minus-zero", "-0 published";
        Saturation = "saturation", "Saturation at \u{b1}448";
        Selection = "selection", "The selected token and window";
        Explained = "explained", "Differences that the tested cause explains";
        Minimap = "minimap", "The whole plane in a corner";
        Numbers = "numbers", "Values written into the cells when they fit";
    }
}

words! {
    /// A tab of the right panel.
    Tab {
        #[default] Probe = "probe", "Values under the pointer and at pins";
        Attention = "attention", "One window, head and query through the softmax";
        Trace = "trace", "How the selected value came to be";
        Statistics = "statistics", "Histograms and counts";
        Events = "events", "NaN to +0, -0, saturation, overflow";
        Causes = "causes", "Known causes, tested";
        Notes = "notes", "Pins, bookmarks and messages";
    }
}

words! {
    /// Colours of the window.
    Theme {
        #[default] Dark = "dark", "Dark";
        Light = "light", "Light";
    }
}

words! {
    /// The order in which a window's keys are shown.
    KeyOrder {
        #[default] Natural = "natural", "Row by row";
        Physical = "physical", "4x4 tile by 4x4 tile, as the softmax and the products read them";
    }
}

words! {
    /// What a number in a cell or a probe is written as.
    Numbers {
        #[default] Value = "value", "The value";
        Code = "code", "The code in hexadecimal";
        Bits = "bits", "The bits";
    }
}

words! {
    /// Which quantity the attention heatmaps show.
    AttentionPart {
        #[default] Weight = "weight", "Published weights";
        Score = "score", "Scores on the prior";
        Exponential = "exponential", "Exponentials";
        Prior = "prior", "The learned prior";
    }
}

words! {
    /// A change to one query's attention, computed to see what it would do.
    WhatIf {
        #[default] MaskOutside = "mask-outside", "Leave the tokens outside the field out of the softmax";
        TrueExponential = "true-exp", "A true exponential instead of the bit trick";
        SequentialSum = "sequential-sum", "Sum the exponentials in key order";
    }
}

words! {
    /// A dialog over the window.
    Dialog {
        #[default] Palette = "palette", "Command palette";
        Open = "open", "Open a model, capture, image or features";
        Sources = "sources", "Choose subject and reference";
        Keys = "keys", "Keys";
        Glossary = "glossary", "Glossary";
        Doctor = "doctor", "Can this machine's engines be trusted?";
        About = "about", "Settings";
    }
}

/// The values that a colour map spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Range {
    /// From the data of both sides.
    #[default]
    Auto,
    /// From a percentile to its mirror: `Percentile(99.0)` cuts the outer percent.
    Percentile(f32),
    /// Fixed bounds.
    Fixed(f32, f32),
}

/// Part of the plane that the canvas shows.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Camera {
    /// Points per token; `None` fits the plane into the canvas.
    pub zoom: Option<f32>,
    /// The plane's point in the middle of the canvas, as a share of width and height, so that it means the same
    /// place on every level.
    pub centre: (f32, f32),
}

impl Default for Camera {
    fn default() -> Self {
        Self { zoom: None, centre: (0.5, 0.5) }
    }
}

/// How the selection is shown.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct View {
    /// What the canvas draws.
    pub mode: Mode,
    /// Which image it is about.
    pub image: Image,
    /// Which of the subject's two results is shown.
    pub basis: Basis,
    /// The divider of [`Mode::Split`], as a share of the canvas' width.
    pub split: f32,
    /// In [`Mode::Flick`], and while the flick key is held in any mode: the side shown now.
    pub flick: Side,
    /// How channels become one value.
    pub reduction: Reduction,
    /// Colours of values.
    pub map: ColourMap,
    /// The values that the colours span.
    pub range: Range,
    /// Whether magnitudes are spread by their logarithm.
    pub log: bool,
    /// What a difference measures.
    pub difference: Difference,
    /// Layers over the picture.
    pub overlays: BTreeSet<Overlay>,
    /// Zoom and pan.
    pub camera: Camera,
    /// The right panel's tab.
    pub tab: Tab,
    /// Order of keys in the attention tab.
    pub keys: KeyOrder,
    /// What numbers are written as.
    pub numbers: Numbers,
    /// What the attention heatmaps show.
    pub attention: AttentionPart,
    /// Changes switched on in the attention tab.
    pub what_if: BTreeSet<WhatIf>,
    /// Colours of the window.
    pub theme: Theme,
    /// Size of the window's text and controls; 1 is normal.
    pub scale: f32,
    /// Events listed: empty means all kinds.
    pub events: BTreeSet<super::EventKind>,
}

impl Default for View {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            image: Image::default(),
            basis: Basis::default(),
            split: 0.5,
            flick: Side::Subject,
            reduction: Reduction::default(),
            map: ColourMap::default(),
            range: Range::default(),
            log: false,
            difference: Difference::default(),
            overlays: [Overlay::Selection, Overlay::Minimap, Overlay::Numbers].into(),
            camera: Camera::default(),
            tab: Tab::default(),
            keys: KeyOrder::default(),
            numbers: Numbers::default(),
            attention: AttentionPart::default(),
            what_if: BTreeSet::new(),
            theme: Theme::default(),
            scale: 1.0,
            events: BTreeSet::new(),
        }
    }
}
