//! Each rule of order on a small ring.
