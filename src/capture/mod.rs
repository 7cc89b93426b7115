//! Recorded runs: capture directories read and written, foreign dumps imported, layouts recovered.
