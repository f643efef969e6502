//! The only place that knows which lock implementation is in use.
