//! The theme as an egui style, and the fonts.
//!
//! The fonts are subsets of Inter with tabular digits, so that numbers in columns do not dance; codes use egui's
//! own monospace.

use super::theme::{DARK, LIGHT, Theme, space, text};
use egui::epaint::Shadow;
use egui::style::{Selection, WidgetVisuals, Widgets};
use egui::{
    Context, CornerRadius, FontData, FontDefinitions, FontFamily, Margin, Stroke, Style, TextStyle, Visuals, vec2,
};
use std::sync::Arc;

/// Gives a context the fonts and both themes. A shell calls it before the first frame.
pub fn install(ctx: &Context) {
    ctx.set_fonts(fonts());
    for (theme, which) in [(&DARK, egui::Theme::Dark), (&LIGHT, egui::Theme::Light)] {
        ctx.set_style_of(which, style(theme));
    }
    ctx.data_mut(|data| data.insert_temp(installed_id(), true));
}

/// Whether [`install`] was called on this context; a shell that forgot loses one frame.
pub fn is_installed(ctx: &Context) -> bool {
    ctx.data(|data| data.get_temp(installed_id()).unwrap_or(false))
}

fn installed_id() -> egui::Id {
    egui::Id::new("blockscope style")
}

fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let mut add = |name: &str, bytes: &'static [u8]| {
        fonts.font_data.insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
    };
    add("inter", include_bytes!("../../assets/fonts/Inter-Regular.otf"));
    add("inter-semibold", include_bytes!("../../assets/fonts/Inter-SemiBold.otf"));
    let fallback = fonts.families.get(&FontFamily::Proportional).cloned().unwrap_or_default();
    let behind = |first: &str| std::iter::once(first.to_owned()).chain(fallback.clone()).collect::<Vec<_>>();
    fonts.families.insert(FontFamily::Proportional, behind("inter"));
    fonts.families.insert(FontFamily::Name(text::STRONG.into()), behind("inter-semibold"));
    fonts
}

fn style(theme: &Theme) -> Style {
    let text_styles = [
        (TextStyle::Small, text::small()),
        (TextStyle::Body, text::body()),
        (TextStyle::Button, text::body()),
        (TextStyle::Heading, text::heading()),
        (TextStyle::Monospace, text::mono()),
    ];
    let mut style = Style { text_styles: text_styles.into(), ..Style::default() };
    style.animation_time = 0.12;
    // Rows are clicked; a selectable label would take the click away from them.
    style.interaction.selectable_labels = false;
    style.interaction.tooltip_delay = 0.35;
    let spacing = &mut style.spacing;
    spacing.item_spacing = vec2(space::SMALL, space::TIGHT);
    spacing.button_padding = vec2(space::SMALL, 3.0);
    spacing.interact_size = vec2(32.0, space::CONTROL);
    spacing.window_margin = Margin::same(14);
    spacing.menu_margin = Margin::same(6);
    spacing.combo_width = 80.0;
    spacing.slider_width = 120.0;
    spacing.slider_rail_height = 4.0;
    spacing.tooltip_width = 340.0;
    spacing.icon_width = 16.0;
    spacing.icon_width_inner = 9.0;
    spacing.scroll.floating = true;
    spacing.scroll.bar_width = 8.0;
    style.visuals = visuals(theme);
    style
}

fn visuals(theme: &Theme) -> Visuals {
    let mut visuals = if theme.dark { Visuals::dark() } else { Visuals::light() };
    let corner = CornerRadius::same(space::CORNER);
    let state = |fill, outline, ink, expansion| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1.0, outline),
        corner_radius: corner,
        fg_stroke: Stroke::new(1.0, ink),
        expansion,
    };
    visuals.widgets = Widgets {
        noninteractive: state(theme.panel, theme.line, theme.text, 0.0),
        inactive: state(theme.raised, theme.line, theme.text, 0.0),
        hovered: state(theme.hover, theme.outline, theme.text, 0.0),
        active: state(theme.pressed, theme.accent, theme.text, 0.0),
        open: state(theme.hover, theme.outline, theme.text, 0.0),
    };
    visuals.selection = Selection { bg_fill: theme.accent_soft, stroke: Stroke::new(1.0, theme.accent) };
    visuals.weak_text_color = Some(theme.weak);
    visuals.hyperlink_color = theme.accent;
    visuals.faint_bg_color = theme.raised;
    visuals.extreme_bg_color = theme.ground;
    visuals.text_edit_bg_color = Some(if theme.dark { theme.ground } else { theme.raised });
    visuals.code_bg_color = theme.raised;
    visuals.warn_fg_color = theme.zero_sign;
    visuals.error_fg_color = theme.differs;
    visuals.window_fill = theme.panel;
    visuals.panel_fill = theme.panel;
    visuals.window_stroke = Stroke::new(1.0, theme.outline);
    visuals.window_corner_radius = CornerRadius::same(10);
    visuals.menu_corner_radius = CornerRadius::same(8);
    visuals.window_shadow = Shadow { offset: [0, 10], blur: 28, spread: 0, color: theme.shadow };
    visuals.popup_shadow = Shadow { offset: [0, 4], blur: 14, spread: 0, color: theme.shadow };
    visuals.slider_trailing_fill = true;
    visuals.striped = false;
    visuals
}
