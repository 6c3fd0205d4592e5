use super::*;
use lanewise_sim::{Source, TraceKind, TraceOf, TraceRequest, load, trace};
use messages::{TracePacket, Type};
use prost::Message;
use std::ops::ControlFlow;

#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<TracePacket>,
}

/// One read at a time that takes 20 us: between, the links are silent but for SKP ordered sets and, seldom, UpdateFCs.
const SILENT: &str = r#"
    [host.server]
    slots = { slot1 = "gen3 x8" }
    memory_latency = "20 us"
    [endpoint.nic]
    attach = "server.slot1"
    generation = "gen3"
    width = "x8"
    [[workload]]
    kind = "dma"
    name = "reads"
    device = "nic"
    direction = "read"
    size = "64 B"
    outstanding = 1
"#;

#[test]
fn ordered_sets_of_a_silence_are_one_slice() {
    let scenario = load(&Source::from_text("silent.toml", SILENT), &[]).expect("it is sound");
    let (from, span) = (Span::from_us(10), Span::from_us(400));
    let (links, kinds) = (Vec::new(), vec![TraceKind::OrderedSet]);
    let request = TraceRequest { from, span, links, kinds, most: usize::MAX, of: TraceOf::Window };
    let traced = trace(&scenario, &request, &mut |_| ControlFlow::Continue(())).expect("a tree");
    let many = traced.rows.iter().filter(|row| row.note.contains("of them")).count();
    assert!(many > 5, "{many} silences");

    let file = File::decode(traced.write(&mut Perfetto::default()).as_slice()).expect("packets");
    let at = |kind: Type| {
        let of_kind = |packet: &&TracePacket| {
            packet.track_event.as_ref().is_some_and(|event| event.r#type == Some(kind as i32))
        };
        file.packets.iter().filter(of_kind).filter_map(|packet| packet.timestamp).collect::<Vec<u64>>()
    };
    let (begun, ended) = (at(Type::SliceBegin), at(Type::SliceEnd));
    assert_eq!((begun.len(), ended.len()), (traced.rows.len(), traced.rows.len()));
    // 370 blocks of 16.25 ns are between two, so a slice of several takes that at least: the viewer's ns are ps.
    let long = begun.iter().zip(&ended).filter(|(begun, ended)| **ended > **begun + 1_000_000).count();
    assert_eq!(long, many);
}
