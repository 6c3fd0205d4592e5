//! From the doorbell to the line: descriptors, the engine that reads frames, and when the last bit is out.

use super::adapters::{Adapters, Notice};
use super::token::{self, Kind, Needs, Ports};
use lanewise_fabric::workload::{Direction, Notify, Target, Transfer};
use lanewise_units::Bytes;

impl Adapters {
    pub(super) fn fetch_transmit<M: Needs>(&mut self, port: usize, ports: &mut Ports<'_, M>) {
        let nic = &self.configs[self.nic_of[port]];
        if let Some(count) = self.ports[port].fetch_transmit(nic) {
            let token = token::with(Kind::TransmitFetched, port, count);
            self.read_descriptors(port, count, token, ports);
        }
    }

    /// Lets the transmit engine of an adapter read frames, its ports in turn.
    pub(super) fn run_engine<M: Needs>(&mut self, nic: usize, ports: &mut Ports<'_, M>) {
        let config = &self.configs[nic];
        let (first, count) = (self.first_port[nic], config.ports as usize);
        let mut looked = 0;
        while self.engines[nic].busy < config.transmit_frames && looked < count {
            let port = first + self.engines[nic].turn;
            self.engines[nic].turn = (self.engines[nic].turn + 1) % count;
            let Some(frame) = self.ports[port].next_read(config) else {
                looked += 1;
                continue;
            };
            looked = 0;
            self.engines[nic].busy += 1;
            self.reading[port].push_back(frame);
            let transfer = Transfer {
                direction: Direction::Read,
                target: Target::HostMemory,
                offset: self.buffers[port][1].next(),
                length: frame.in_memory(),
                flow: self.flows[nic].transmit,
                token: token::of(Kind::FrameRead, port),
                notify: Notify::Done,
            };
            ports.submit(self.engines[nic].queue, transfer);
        }
        for port in first..first + self.configs[nic].ports as usize {
            self.fetch_transmit(port, ports);
        }
    }

    pub(super) fn frame_read<M: Needs>(&mut self, port: usize, ports: &mut Ports<'_, M>) {
        let time = self.nic(port).frame_time;
        if time.is_zero() {
            return self.frame_ready(port, ports);
        }
        ports.set_timer(ports.now() + time, token::of(Kind::FrameReady, port));
    }

    /// The engine has finished with a frame: it waits for the line, and the engine takes the next.
    pub(super) fn frame_ready<M: Needs>(&mut self, port: usize, ports: &mut Ports<'_, M>) {
        let frame = self.reading[port].pop_front().expect("frames of a port are read in order");
        let nic = self.nic_of[port];
        self.engines[nic].busy -= 1;
        self.ports[port].stored(frame);
        if let Some(count) = self.ports[port].write_back_transmit(&self.configs[nic]) {
            let token = token::with(Kind::TransmitWrittenBack, port, count);
            self.write_descriptors(port, count, token, ports);
        }
        self.start_line(port, ports);
        self.run_engine(nic, ports);
    }

    /// Sends the next frame when the line is free: what its first bit leaves for is told at once; the line is busy until the gap is
    /// over.
    pub(super) fn start_line<M: Needs>(&mut self, port: usize, ports: &mut Ports<'_, M>) {
        let Some(frame) = self.ports[port].next_on_line() else { return };
        let now = ports.now();
        let size = Bytes::new(frame.size.into());
        let free = now + self.nic(port).rate.line_span(size);
        ports.set_timer(free, token::with(Kind::LineFree, port, frame.size));
        self.notices.push_back(Notice::Sent { frame });
    }

    pub(super) fn line_free<M: Needs>(&mut self, port: usize, bytes: u32, ports: &mut Ports<'_, M>) {
        self.ports[port].sent(bytes);
        self.start_line(port, ports);
        self.run_engine(self.nic_of[port], ports);
        self.notices.push_back(Notice::LineFree);
    }
}
