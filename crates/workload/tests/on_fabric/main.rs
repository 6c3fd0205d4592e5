//! Instruments on the real fabric.

mod rig;
mod storage;
mod streams;
