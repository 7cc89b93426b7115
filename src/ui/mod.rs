//! Panels and widgets: draws a session, sends commands. No files, no computing.
