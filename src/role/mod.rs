//! What a process of this program can be.
