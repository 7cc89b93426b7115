//! Design tokens: every colour, text size and distance of the window, once for dark and once for light.
//!
//! Verdict colours are taken apart by hue *and* lightness so that they survive the common colour blindnesses, and
//! each has a shape of its own ([`super::mark`]), so that colour never carries a meaning alone.
//!
//! **Invariants**
//! * Panels and widgets name tokens, never colours.
//! * Text tokens reach a contrast of 4.5 on every surface token of their theme; a test measures it.

use egui::Color32;

/// The colours of one theme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theme {
    /// Whether this is the dark one.
    pub dark: bool,
    /// Behind everything, and the canvas around the picture.
    pub ground: Color32,
    /// Panels.
    pub panel: Color32,
    /// Cards, fields and buttons on a panel.
    pub raised: Color32,
    /// Something raised under the pointer.
    pub hover: Color32,
    /// Something raised and pressed, or chosen.
    pub pressed: Color32,
    /// Hairlines between regions.
    pub line: Color32,
    /// Outlines of controls.
    pub outline: Color32,
    /// Text.
    pub text: Color32,
    /// Secondary text: units, captions.
    pub weak: Color32,
    /// Text that may be overlooked: disabled, empty places.
    pub faint: Color32,
    /// Selection, focus, the playhead.
    pub accent: Color32,
    /// Text and icons on the accent.
    pub on_accent: Color32,
    /// A tint of the accent, for chosen rows.
    pub accent_soft: Color32,
    /// Verdict: bit-exact.
    pub exact: Color32,
    /// Verdict: equal up to the sign of zero.
    pub zero_sign: Color32,
    /// Verdict: differs.
    pub differs: Color32,
    /// Verdict: not compared.
    pub not_compared: Color32,
    /// The subject's own colour in pairs.
    pub subject: Color32,
    /// The reference's own colour in pairs.
    pub reference: Color32,
    /// Events on the picture.
    pub event: Color32,
    /// Shadow under floating things.
    pub shadow: Color32,
}

const fn rgb(hex: u32) -> Color32 {
    Color32::from_rgb((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// The dark theme: cool, quiet, the picture is the brightest thing.
pub const DARK: Theme = Theme {
    dark: true,
    ground: rgb(0x0c_0e_12),
    panel: rgb(0x13_16_1c),
    raised: rgb(0x1c_21_29),
    hover: rgb(0x26_2d_38),
    pressed: rgb(0x31_3a_47),
    line: rgb(0x24_2a_33),
    outline: rgb(0x3a_44_52),
    text: rgb(0xe3_e8_ee),
    weak: rgb(0xa0_ab_b8),
    faint: rgb(0x66_71_7f),
    accent: rgb(0x8f_a8_ff),
    on_accent: rgb(0x0c_10_1f),
    accent_soft: rgb(0x25_2e_4c),
    exact: rgb(0x2f_bf_9b),
    zero_sign: rgb(0xf0_c5_4a),
    differs: rgb(0xf2_69_3e),
    not_compared: rgb(0x7b_86_94),
    subject: rgb(0x6c_c4_f5),
    reference: rgb(0xd3_a3_f0),
    event: rgb(0xff_7a_b8),
    shadow: Color32::from_black_alpha(120),
};

/// The light theme: paper, the same hues darkened until they carry text.
pub const LIGHT: Theme = Theme {
    dark: false,
    ground: rgb(0xe6_ea_ef),
    panel: rgb(0xf7_f9_fb),
    raised: rgb(0xff_ff_ff),
    hover: rgb(0xed_f1_f6),
    pressed: rgb(0xdd_e4_ed),
    line: rgb(0xd9_df_e7),
    outline: rgb(0xb6_c1_ce),
    text: rgb(0x17_1d_25),
    weak: rgb(0x4c_58_66),
    faint: rgb(0x80_8c_9a),
    accent: rgb(0x36_50_d8),
    on_accent: rgb(0xff_ff_ff),
    accent_soft: rgb(0xdc_e3_ff),
    exact: rgb(0x0a_7d_63),
    zero_sign: rgb(0x96_6c_00),
    differs: rgb(0xb0_10_30),
    not_compared: rgb(0x6a_76_85),
    subject: rgb(0x0b_6e_a8),
    reference: rgb(0x87_3f_b4),
    event: rgb(0xbf_1e_72),
    shadow: Color32::from_black_alpha(50),
};

impl Theme {
    /// The theme that a part of the window is drawn in.
    pub fn of(ui: &egui::Ui) -> &'static Self {
        Self::dark(ui.visuals().dark_mode)
    }

    /// The theme of a context.
    pub fn of_context(ctx: &egui::Context) -> &'static Self {
        Self::dark(ctx.global_style().visuals.dark_mode)
    }

    /// Quiet text that still reads on a chosen row.
    pub const fn faint_on(&self, chosen: bool) -> Color32 {
        if chosen { self.weak } else { self.faint }
    }

    /// One of the two.
    pub const fn dark(dark: bool) -> &'static Self {
        if dark { &DARK } else { &LIGHT }
    }
}

/// Distances, in points: a scale, so that nothing is placed by feeling.
pub mod space {
    /// Between an icon and its text.
    pub const HAIR: f32 = 2.0;
    /// Inside a group.
    pub const TIGHT: f32 = 4.0;
    /// Between controls.
    pub const SMALL: f32 = 8.0;
    /// Inside a panel.
    pub const MEDIUM: f32 = 12.0;
    /// Between sections.
    pub const LARGE: f32 = 18.0;
    /// Height of a control.
    pub const CONTROL: f32 = 24.0;
    /// Corner of a control.
    pub const CORNER: u8 = 5;
}

/// Text styles, in points.
pub mod text {
    use egui::{FontFamily, FontId};

    /// The name of the semibold family.
    pub const STRONG: &str = "strong";

    fn strong_family() -> FontFamily {
        FontFamily::Name(STRONG.into())
    }

    /// Titles of dialogs and of the tour.
    pub fn title() -> FontId {
        FontId::new(18.0, strong_family())
    }

    /// Headings of panels.
    pub fn heading() -> FontId {
        FontId::new(13.0, strong_family())
    }

    /// Small capitals-like labels over sections.
    pub fn label() -> FontId {
        FontId::new(11.0, strong_family())
    }

    /// Running text and controls.
    pub fn body() -> FontId {
        FontId::proportional(13.0)
    }

    /// Captions, units, axes.
    pub fn small() -> FontId {
        FontId::proportional(11.5)
    }

    /// Codes, bits, tensor names.
    pub fn mono() -> FontId {
        FontId::monospace(12.0)
    }

    /// Codes in small places.
    pub fn mono_small() -> FontId {
        FontId::monospace(10.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(c: Color32) -> f64 {
        let linear = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.040_45 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(c.r()) + 0.7152 * linear(c.g()) + 0.0722 * linear(c.b())
    }

    fn contrast(a: Color32, b: Color32) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_is_readable_on_every_surface() {
        for theme in [&DARK, &LIGHT] {
            for surface in [theme.panel, theme.raised, theme.hover, theme.accent_soft] {
                for (name, text) in [("text", theme.text), ("weak", theme.weak)] {
                    assert!(contrast(text, surface) >= 4.5, "{name} on {surface:?}: {}", contrast(text, surface));
                }
            }
            for colour in [theme.exact, theme.zero_sign, theme.differs, theme.accent, theme.event] {
                assert!(contrast(colour, theme.panel) >= 4.0, "{colour:?}: {}", contrast(colour, theme.panel));
            }
            assert!(contrast(theme.accent, theme.on_accent) >= 4.5, "on accent");
        }
    }

    /// The three verdicts stay apart when red and green cones are missing (Vienot's matrices, linear light).
    #[test]
    fn verdicts_survive_colour_blindness() {
        let linear = |c: Color32| [c.r(), c.g(), c.b()].map(|v| (f64::from(v) / 255.0).powf(2.2));
        let matrices = [
            [[0.112, 0.888, 0.0], [0.112, 0.888, 0.0], [0.004, -0.004, 1.0]],
            [[0.292, 0.708, 0.0], [0.292, 0.708, 0.0], [-0.022, 0.022, 1.0]],
        ];
        for theme in [&DARK, &LIGHT] {
            let verdicts = [theme.exact, theme.zero_sign, theme.differs].map(linear);
            for matrix in matrices {
                let seen = verdicts
                    .map(|v| matrix.map(|row| (0..3).map(|i| row[i] * v[i]).sum::<f64>().max(0.0).powf(1.0 / 2.2)));
                for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                    let distance: f64 = (0..3).map(|i| (seen[a][i] - seen[b][i]).powi(2)).sum::<f64>().sqrt();
                    assert!(distance > 0.12, "{a} and {b}: {distance:.3} (dark {})", theme.dark);
                }
            }
        }
    }
}
