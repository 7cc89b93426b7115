//! The regions of the window, one file each: `show(ui, desk)` draws from the session and sends commands.

pub(super) mod attention;
pub(super) mod bottom;
pub(super) mod canvas;
pub(super) mod causes;
pub(super) mod dialogs;
mod event_marks;
pub(super) mod events;
pub(super) mod kernels;
pub(super) mod messages;
pub(super) mod network;
pub(super) mod notes;
mod overlays;
pub(super) mod probe;
pub(super) mod statistics;
mod strip;
pub(super) mod tabs;
mod texture;
mod toolbar;
pub(super) mod tour;
pub(super) mod trace;
mod trace_groups;
pub(super) mod transport;
mod veil;
mod what_if;

pub(super) use events::Listed;
