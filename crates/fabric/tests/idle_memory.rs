//! What a port takes while nothing has happened: a KiB at most, with its share of its switch, so that tens of thousands fit a laptop.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::{FabricConfig, LinkPower, SleepConfig};
use lanewise_pcie::virtual_channel::ChannelMap;
use lanewise_units::{Generation, Span, Width};

const KIB: f64 = 1024.0;

/// A link by itself, and switches with few and with the most ports.
fn sizes(generation: Generation) -> Vec<FabricConfig> {
    let below_switch = |endpoints| behind_switch(generation, Width::X16, Width::X4, endpoints, 256);
    let switches = [1, 2, 8, 32, 127].into_iter().map(below_switch);
    std::iter::once(direct(generation, Width::X4, 256)).chain(switches).collect()
}

/// Bytes of the whole fabric at rest for each of its ports.
fn bytes_per_port(config: &FabricConfig) -> f64 {
    Simulation::build(config).expect("a tree").fabric.bytes_per_port()
}

fn assert_small(configs: &[FabricConfig], most: f64) {
    for config in configs {
        let (bytes, ports) = (bytes_per_port(config), ports(config));
        assert!(bytes <= most, "{bytes} B for each of {ports} ports");
    }
}

#[test]
fn an_idle_port_takes_at_most_a_kib() {
    for generation in [Generation::Gen1, Generation::Gen3, Generation::Gen5] {
        assert_small(&sizes(generation), KIB);
    }
}

#[test]
fn one_in_flit_mode_no_more() {
    assert_small(&sizes(Generation::Gen6), KIB);
}

#[test]
fn one_whose_link_sleeps_no_more() {
    let state = |us| Some(SleepConfig::new(Span::from_us(us), Span::from_us(us)));
    let mut configs = sizes(Generation::Gen3);
    for link in configs.iter_mut().flat_map(|config| &mut config.links) {
        link.power = LinkPower { l0s: state(1), l1: state(10) };
    }
    assert_small(&configs, KIB);
}

/// What is drawn, and from which stream of random numbers.
#[test]
fn bit_errors_add_a_tenth_of_that() {
    let mut configs = sizes(Generation::Gen3);
    for link in configs.iter_mut().flat_map(|config| &mut config.links) {
        link.faults_upstream.bit_error_rate = 1e-12;
        link.faults_downstream.bit_error_rate = 1e-12;
    }
    assert_small(&configs, KIB * 1.1);
}

/// A virtual channel has credits, buffers and queues of its own.
#[test]
fn each_virtual_channel_beyond_the_first_adds_less_than_half_of_that() {
    for channels in 1..=7 {
        let classes: Vec<[u8; 1]> = (1..=channels).map(|class| [class]).collect();
        let classes: Vec<&[u8]> = classes.iter().map(|class| &class[..]).collect();
        let map = ChannelMap::new(&classes).expect("a legal map");
        let mut configs = sizes(Generation::Gen3);
        for config in &mut configs {
            config.links.iter_mut().for_each(|link| link.channels = map);
            for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
                port.more_credits = vec![port.credits; usize::from(channels)];
            }
        }
        assert_small(&configs, KIB * (1.0 + 0.5 * f64::from(channels)));
    }
}
