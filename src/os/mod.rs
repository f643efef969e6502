//! The machine behind small interfaces: files, sockets, peers. No decisions live here.
