//! Differences.
