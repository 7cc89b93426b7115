//! What the window knows, without egui: loaded things, selection, commands, jobs, undo, persistence.
