//! Drives that change hosts while the run goes on, as a switch in synthetic mode lets them.
//!
//! ```text
//!  at        no new commands for the drive; those under way finish
//!  drained   the old host deletes its queues and shuts the drive down, which empties its write buffer
//!  at rest   the link goes down; the switch's firmware changes its tables; hot reset; training; the link is up
//!  ready     the drive may be asked; hot-plug notice, enumeration, controller and queues at the new host
//!  there     jobs of the new host use the drive
//! ```
//!
//! The move is managed: the drive is asked to leave, not pulled out, so nothing is aborted or lost. To each host the drive
//! is a device of its own at the same port of its partition; only the link of one of them is up at a time. What firmware
//! and drivers do takes the time that is given for it and sends no packets.
//!
//! Sources: PCIe Base 6.3 §4.2.7.11 (hot reset), §6.6.1 (time until a device may be asked), §6.7 (hot plug); NVMe Base 2.0
//! §3.6 (shutdown); Linley Newsletter 2019-09-24 (synthetic mode).
//!
//! Leaves out: surprise removal, moves that fail, and what keeps both hosts from using the data at once.

use super::token::{Kind, Needs, Ports, Token, drives};
use super::workload::NvmeWorkload;
use crate::device::nvme::Drives;
use lanewise_fabric::workload::DeviceId;
use lanewise_units::{Span, Time};

/// A drive is to change hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveConfig {
    /// Index of the drive.
    pub ssd: usize,
    /// When it is asked to leave.
    pub at: Span,
    /// The drive as the new host sees it.
    pub device: DeviceId,
    /// Index of the new host.
    pub host: usize,
    /// From the last completion until the old host has deleted its queues and told the drive to shut down.
    pub shutdown_time: Span,
    /// From the drive at rest until the port is in the new host's partition: the switch's firmware, and hot reset.
    pub reset_time: Span,
    /// From there until flow control is initialised on the trained link.
    pub training_time: Span,
    /// From there until the drive may be asked.
    pub ready_time: Span,
    /// Hot-plug notice, enumeration, and the driver's start at the new host.
    pub enumeration_time: Span,
}

/// Between two looks at whether a drive has come to rest. Assumed: short beside everything else in a move.
const LOOK_AGAIN: Span = Span::from_us(10);

impl NvmeWorkload {
    /// Takes the links down at which no drive is yet, and plans the moves.
    pub(super) fn plan_moves<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        let moves = self.config.moves.clone();
        let mut absent: Vec<DeviceId> = Vec::new();
        for (index, each) in moves.iter().enumerate() {
            let first = self.drives.drive(each.ssd as u32).config.device;
            if each.device != first && !absent.contains(&each.device) {
                absent.push(each.device);
                ports.disconnect(each.device);
            }
            ports.set_timer(Time::ZERO + each.at, Token::of(Kind::MoveDue, index as u32));
        }
        // Each begins and ends.
        ports.expect_changes(2 * moves.len());
    }

    /// The drive is asked to leave; after an earlier move, if that takes until now.
    pub(super) fn move_due<M: Needs>(&mut self, index: u32, ports: &mut Ports<'_, M>) {
        let ssd = self.config.moves[index as usize].ssd as u32;
        let drive = self.drives.drive_mut(ssd);
        if drive.leaving.is_some() {
            ports.set_timer(ports.now() + LOOK_AGAIN, Token::of(Kind::MoveDue, index));
            return;
        }
        drive.leaving = Some(index);
        let name = format!("{} leaves {}", drive.config.name, self.config.hosts[drive.config.host].name);
        ports.changed(name);
        self.drain_before_move(ssd, ports);
    }

    /// If the drive is to leave and its last command is over, the old host shuts it down.
    pub(super) fn drain_before_move<M: Needs>(&mut self, ssd: u32, ports: &mut Ports<'_, M>) {
        let drive = self.drives.drive(ssd);
        let Some(index) = drive.leaving.filter(|_| drive.in_flight == 0) else { return };
        let until = ports.now() + self.config.moves[index as usize].shutdown_time;
        ports.set_timer(until, Token::of(Kind::MoveShutDown, index));
    }

    /// The old host is done: the link goes down as soon as the drive is at rest.
    pub(super) fn move_shut_down<M: Needs>(&mut self, index: u32, ports: &mut Ports<'_, M>) {
        let planned = &self.config.moves[index as usize];
        let drive = self.drives.drive(planned.ssd as u32);
        if !drive.is_at_rest() || !ports.is_at_rest(drive.config.device) {
            ports.set_timer(ports.now() + LOOK_AGAIN, Token::of(Kind::MoveShutDown, index));
            return;
        }
        ports.disconnect(drive.config.device);
        let up = ports.now() + planned.reset_time + planned.training_time;
        ports.set_timer(up, Token::of(Kind::MoveLinkUp, index));
    }

    /// The link to the new host's partition has trained.
    pub(super) fn move_link_up<M: Needs>(&mut self, index: u32, ports: &mut Ports<'_, M>) {
        let planned = &self.config.moves[index as usize];
        ports.connect(planned.device);
        let there = ports.now() + planned.ready_time + planned.enumeration_time;
        ports.set_timer(there, Token::of(Kind::MoveDone, index));
    }

    /// The new host has the drive.
    pub(super) fn move_done<M: Needs>(&mut self, index: u32, ports: &mut Ports<'_, M>) {
        let planned = self.config.moves[index as usize].clone();
        let ssd = planned.ssd as u32;
        self.drives.attach(ssd, (planned.device, planned.host), &mut drives(ports));
        let drive = self.drives.drive(ssd);
        ports.changed(format!("{} on {}", drive.config.name, self.config.hosts[planned.host].name));
        for job in 0..self.jobs.len() as u32 {
            self.run_job(job, ports);
        }
    }

    /// Whether a path leads to its drive now.
    pub(super) fn is_usable(drives: &Drives, path: super::PathConfig) -> bool {
        let drive = drives.drive(path.ssd as u32);
        drive.leaving.is_none() && drive.config.host == path.host
    }
}
