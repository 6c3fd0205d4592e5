//! The job's side of an I/O on its way down: its thread, and the driver that it calls.

use super::job::Request;
use super::jobs::IoEngine;
use super::token::{Kind, Needs, Ports, Token, drives};
use super::workload::NvmeWorkload;
use crate::host::cpu::CpuWork;

impl NvmeWorkload {
    /// The job's thread turns to an I/O.
    pub(super) fn issue<M: Needs>(&mut self, index: u32, request: Request, ports: &mut Ports<'_, M>) {
        let job = &self.jobs[self.slots[index as usize].job as usize];
        let (group, host, core) = (job.group as usize, job.host as usize, job.core);
        let path = self.config.paths[self.config.groups[group].fio.files[request.file as usize]];
        let connection = self.connections[self.slots[index as usize].job as usize];
        let queue =
            self.drives.queue_of(path.ssd as u32, connection.map_or(core, |connection| connection.core));
        let worker_cost = self.config.hosts[host].worker_cost;
        let started = self.cores[host].run(core as usize, ports.now(), worker_cost, CpuWork::User);
        let slot = &mut self.slots[index as usize];
        slot.request = request;
        (slot.ssd, slot.queue) = (path.ssd as u32, queue);
        slot.started = started;
        let depth = self.jobs[slot.job as usize].in_flight();
        let tally = self.tally_of(index);
        tally.issued_at(depth);
        tally.cpu.spend(worker_cost, CpuWork::User);
        let drive = self.drives.drive_mut(path.ssd as u32);
        drive.in_flight += 1;
        drive.in_software += u32::from(connection.is_none());
        self.begun(index, ports);
        self.drives.say_what_holds_back(path.ssd as u32, &mut drives(ports));
    }

    /// The driver spends its time on an I/O; the doorbell is rung at the end of it.
    pub(super) fn call_kernel<M: Needs>(&mut self, index: u32, ports: &mut Ports<'_, M>) {
        let slot = &self.slots[index as usize];
        let (group, request) = (slot.group as usize, slot.request);
        let job = &self.jobs[slot.job as usize];
        let (host, core) = (job.host as usize, job.core as usize);
        let costs = &self.config.hosts[host];
        let (called, work) = match self.config.groups[group].fio.engine {
            IoEngine::Ring => {
                (costs.submit_cost - costs.submit_cost.min(costs.aio_cost), CpuWork::Privileged)
            }
            IoEngine::UserSpace => (costs.user_driver_halves()[0], CpuWork::User),
            IoEngine::Asynchronous | IoEngine::Synchronous => (costs.submit_cost, CpuWork::Privileged),
        };
        let submit_cost = called + self.post_cost(group, &request);
        let submitted = self.cores[host].run(core, ports.now(), submit_cost, work);
        self.slots[index as usize].submitted = submitted;
        self.tally_of(index).cpu.spend(submit_cost, work);
        ports.set_timer(submitted, Token::of(Kind::Submitted, index));
    }
}
