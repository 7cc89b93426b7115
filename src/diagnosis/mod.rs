//! The catalogue of known causes, and the search that tests them.
