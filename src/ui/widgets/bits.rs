//! A number's bits as cells, sign, exponent and mantissa apart, with those that differ from another number marked.

use super::super::theme::{Theme, text};
use egui::{
    Align2, Color32, CornerRadius, Rect, Response, Sense, Stroke, StrokeKind, Ui, WidgetInfo, WidgetType, vec2,
};

/// How wide sign, exponent and mantissa are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Exponent bits; the sign is one.
    pub exponent: u32,
    /// Mantissa bits.
    pub mantissa: u32,
}

impl Field {
    /// E4M3.
    pub const E4M3: Self = Self { exponent: 4, mantissa: 3 };
    /// IEEE binary16.
    pub const F16: Self = Self { exponent: 5, mantissa: 10 };
    /// IEEE binary32.
    pub const F32: Self = Self { exponent: 8, mantissa: 23 };

    /// All bits.
    pub const fn width(self) -> u32 {
        1 + self.exponent + self.mantissa
    }
}

/// A row of bit cells.
#[derive(Clone, Copy, Debug)]
pub struct Bits {
    number: u32,
    field: Field,
    other: Option<u32>,
    cell: f32,
}

impl Bits {
    /// The bits of a number.
    pub fn new(bits: u32, field: Field) -> Self {
        Self { number: bits, field, other: None, cell: 13.0 }
    }

    /// Marks the bits that differ from these.
    #[must_use]
    pub fn against(self, other: u32) -> Self {
        Self { other: Some(other), ..self }
    }

    /// Width of a cell.
    #[must_use]
    pub fn cell(self, cell: f32) -> Self {
        Self { cell, ..self }
    }

    /// Draws them.
    pub fn show(self, ui: &mut Ui) -> Response {
        let Field { exponent, mantissa } = self.field;
        let width = self.field.width();
        let gap = 4.0;
        let size = vec2(self.cell * width as f32 + 2.0 * gap, self.cell + 4.0);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        let theme = Theme::of(ui);
        for at in 0..width {
            let shift = width - 1 - at;
            let bit = self.number >> shift & 1;
            let differs = self.other.is_some_and(|other| other >> shift & 1 != bit);
            let (tint, group) = match at {
                0 => (theme.event, 0.0),
                _ if at <= exponent => (theme.accent, 1.0),
                _ => (theme.subject, 2.0),
            };
            let min = rect.min + vec2(self.cell * at as f32 + gap * group, 0.0);
            let cell = Rect::from_min_size(min, vec2(self.cell - 1.0, size.y)).shrink2(vec2(0.0, 1.0));
            let fill = if bit == 1 { tint.gamma_multiply(0.55) } else { tint.gamma_multiply(0.10) };
            ui.painter().rect_filled(cell, CornerRadius::same(2), fill);
            if differs {
                ui.painter().rect_stroke(
                    cell,
                    CornerRadius::same(2),
                    Stroke::new(1.5, theme.differs),
                    StrokeKind::Outside,
                );
            }
            if self.cell >= 9.0 {
                let ink = if bit == 1 { theme.text } else { theme.weak };
                let font = egui::FontId::monospace((self.cell - 2.0).min(11.0));
                ui.painter().text(cell.center(), Align2::CENTER_CENTER, bit, font, ink);
            }
        }
        let words = format!("bits {:0width$b}", self.number, width = width as usize);
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, &words));
        let field = format!("sign 1 \u{b7} exponent {exponent} \u{b7} mantissa {mantissa} bits");
        response.on_hover_ui(|ui| {
            ui.label(egui::RichText::new(field).font(text::small()).color(Color32::PLACEHOLDER));
        })
    }
}
