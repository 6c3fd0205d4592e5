//! Cases in which a look once changed what follows.

use super::case::{Case, EndpointCase, LinkCase, RootCase, SwitchCase, TransferCase, WireCase};

/// A link without any of what few have.
fn link(parent: usize, generation: u8, lanes: u64, credits: u16) -> LinkCase {
    let wire = WireCase {
        propagation_ns: 1,
        sris: false,
        skip_ns: None,
        recovery_us: 10,
        simplified_replay: false,
        updates_us: None,
        prompt_acks: false,
    };
    LinkCase {
        parent,
        generation,
        lanes,
        flit: false,
        credits,
        infinite_headers: false,
        scale: 0,
        retry_tlps: 1,
        ack_every: 1,
        update_every: 1,
        receive_ns: 0,
        corrupt_downstream: Vec::new(),
        corrupt_upstream: Vec::new(),
        errors_downstream: 0,
        errors_upstream: 0,
        channels: 0,
        channel_arbitration: 0,
        sleep_us: [None, None],
        wire,
    }
}

fn endpoint(link: LinkCase) -> EndpointCase {
    EndpointCase {
        link,
        mrrs_shift: 0,
        tags: 3,
        wide_tags: false,
        relaxed: false,
        ecrc: false,
        interval_ns: 0,
        slow_drain: false,
        slow_memory: false,
        completion_ns: 0,
        dma: 0,
    }
}

fn transfer((from, to): (usize, usize), what: u8, (offset, length): (u64, u64), at_ns: u64) -> TransferCase {
    TransferCase { from, to, channel: 0, what, offset, length, at_ns, notify: 0 }
}

/// Both ends of a link that sleeps owe an UpdateFC at one instant: the switch one that only repeats, which is put off in L1, the
/// endpoint one with news, which wakes the link and starts the switch's periods anew. Then space becomes free at the switch.
pub fn space_is_free_while_the_other_end_wakes_the_link() -> Case {
    let mut sleeping = link(5, 2, 8, 16);
    sleeping.update_every = 2;
    sleeping.sleep_us[1] = Some(1);
    sleeping.wire.updates_us = Some([5, 2]);
    let links = [link(2, 1, 4, 0), link(2, 1, 1, 0), link(5, 1, 1, 0), sleeping];
    Case {
        seed: 0,
        mps_shift: 3,
        root: RootCase {
            combine: false,
            rcb_128: false,
            engines: 1,
            jitter: false,
            shared_outbound: false,
            line_places: None,
            high_memory: true,
            sockets: true,
            iommu: 1,
            slow_memory: false,
            ecrc: false,
            banks: false,
            cache: None,
            pairs: false,
            cuts_at: None,
        },
        two_roots: false,
        switches: vec![SwitchCase {
            link: link(0, 4, 8, 1),
            core: 3,
            store_and_forward: false,
            latency_ns: 0,
            arbitration: 0,
            acs: false,
            metered: None,
            storage: [0; 3],
            spare_port: false,
        }],
        endpoints: links.map(endpoint).to_vec(),
        transfers: vec![
            TransferCase { channel: 1, ..transfer((0, 3), 1, (0, 1), 14_621) },
            transfer((0, 0), 0, (0, 1), 8_393),
            transfer((3, 4), 1, (6_012, 3_205), 422),
            transfer((3, 1), 1, (0, 73), 97),
        ],
        classes: [0; 3],
        plugs: Vec::new(),
        transaction_errors: None,
    }
}
