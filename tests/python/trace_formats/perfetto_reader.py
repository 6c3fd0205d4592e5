"""Reads a trace for Perfetto with Perfetto's own definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Slice:
    """From `start` to `end`, in the viewer's ns."""

    name: str
    start: int
    end: int | None
    flows: list[int]
    says: dict[str, Any]


@dataclass
class Read:
    """Tracks by their names from the top, with what is on each in order of time."""

    slices: dict[tuple[str, ...], list[Slice]] = field(default_factory=dict)
    counters: dict[tuple[str, ...], list[tuple[int, int]]] = field(default_factory=dict)
    orders: dict[tuple[str, ...], int] = field(default_factory=dict)

    def value(self, track: tuple[str, ...], at: int) -> int | None:
        """Of a counter, what it is at a time; none before its first value."""
        values = [value for time, value in self.counters[track] if time <= at]
        return values[-1] if values else None


class _Texts:
    """What was interned so far."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.keys: dict[int, str] = {}
        self.values: dict[int, str] = {}

    def take(self, data: Any) -> None:
        self.names |= {one.iid: one.name for one in data.event_names}
        self.keys |= {one.iid: one.name for one in data.debug_annotation_names}
        self.values |= {one.iid: one.str.decode() for one in data.debug_annotation_string_values}

    def says(self, annotations: Any) -> dict[str, Any]:
        return {self.keys[one.name_iid]: self._value(one) for one in annotations}

    def _value(self, one: Any) -> Any:
        if one.dict_entries:
            return self.says(one.dict_entries)
        kind = one.WhichOneof("value")
        value = getattr(one, kind)
        return self.values[value] if kind == "string_value_iid" else value


def read(path: Path) -> Read:
    """Read a file whole; events of one time stay in the order of the file, as Perfetto sorts them."""
    trace = protos.Trace()
    trace.ParseFromString(path.read_bytes())
    assert trace.packet[0].sequence_flags == protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
    tracks: dict[int, tuple[str, ...]] = {0: ()}
    texts, found, events = _Texts(), Read(), []
    for packet in trace.packet:
        assert not _unknown_in(packet)
        texts.take(packet.interned_data)
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            track = (*tracks[described.parent_uuid], described.name)
            assert described.uuid not in tracks
            assert track not in found.orders
            tracks[described.uuid] = track
            found.orders[track] = described.sibling_order_rank
        if packet.HasField("track_event"):
            events.append((packet.timestamp, packet.track_event))
    for at, event in sorted(events, key=lambda timed: timed[0]):
        _take(found, tracks[event.track_uuid], at, event, texts)
    return found


def _take(found: Read, track: tuple[str, ...], at: int, event: Any, texts: _Texts) -> None:
    kinds = protos.TrackEvent
    if event.type == kinds.TYPE_COUNTER:
        found.counters.setdefault(track, []).append((at, event.counter_value))
        return
    on_track = found.slices.setdefault(track, [])
    if event.type == kinds.TYPE_SLICE_END:
        assert on_track[-1].end is None, f"{track}: what ends at {at} has not begun"
        on_track[-1].end = at
        return
    assert not on_track or on_track[-1].end is not None, f"{track}: two at once at {at}"
    end = at if event.type == kinds.TYPE_INSTANT else None
    says = texts.says(event.debug_annotations)
    on_track.append(Slice(texts.names[event.name_iid], at, end, list(event.flow_ids), says))


def _unknown_in(packet: Any) -> int:
    """Count fields that the definitions do not have, in a packet and in what is in it."""
    parts = [packet, packet.track_event, packet.track_descriptor, packet.interned_data]
    parts += list(packet.track_event.debug_annotations)
    return sum(len(UnknownFieldSet(part)) for part in parts)
