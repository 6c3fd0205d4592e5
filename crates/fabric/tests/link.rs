//! What a link does, a file for each subject: what `make mutants` asks when it changes the code of links.

mod common;
mod credits_and_tags;
mod data_link;
mod flit;
mod hot_plug;
mod standby;
mod virtual_channels;
