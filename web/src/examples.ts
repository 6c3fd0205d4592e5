/** Rigs to start from: files of `scenarios/` and of published experiments, as they are in the repository. */
import * as texts from "./example-texts.ts";

export interface Example {
  /** What its file is called. */
  file: string;
  /** What it shows, in a few words. */
  title: string;
  group: string;
  text: string;
}

const of = (group: string, file: string, title: string, text: string): Example => ({ group, file, title, text });

const SMALL = "Small rigs";
const MACHINES = "Machines";
const PUBLISHED = "Published experiments";

/** A host alone, to build on. */
export const EMPTY = { file: "rig.toml", text: 'title = "A new rig"\n\n[host.server]\npart = "generic-gen5-server"\n' };

export const EXAMPLES: readonly Example[] = [
  of(SMALL, "oversubscribed.toml", "Eight drives behind one x16 link", texts.oversubscribed),
  of(SMALL, "first_rig.toml", "One drive in one slot", texts.firstRig),
  of(SMALL, "wrong_slot.toml", "A network adapter in the wrong slot", texts.wrongSlot),
  of(SMALL, "nvme_fio.toml", "Four NVMe drives under fio", texts.nvmeFio),
  of(SMALL, "peer_to_peer.toml", "A network adapter writes to a GPU", texts.peerToPeer),
  of(SMALL, "replay.toml", "A link with bit errors", texts.replay),
  of(SMALL, "two_sockets.toml", "Memory on the other socket", texts.twoSockets),
  of(SMALL, "cxl_memory.toml", "CXL memory: bandwidth and loaded latency", texts.cxlMemory),
  of(SMALL, "retimed_cable.toml", "Two retimers and 30 m of fibre", texts.retimedCable),
  of(SMALL, "sriov.toml", "Virtual functions that share a link", texts.sriov),
  of(MACHINES, "gpu_node.toml", "A node of eight GPUs", texts.gpuNode),
  of(MACHINES, "hgx_h100.toml", "An HGX node: eight H100, eight 400G adapters", texts.hgxH100),
  of(MACHINES, "hgx_h200.toml", "An HGX node: eight H200, eight 400G adapters", texts.hgxH200),
  of(MACHINES, "l40s.toml", "Four L40S at two sockets, without a switch", texts.l40s),
  of(MACHINES, "enclosure.toml", "An enclosure of 24 drives", texts.enclosure),
  of(MACHINES, "drives_24_gen5.toml", "Twenty-four Gen5 drives without a switch", texts.drives24Gen5),
  of(MACHINES, "storage_server.toml", "A storage server: NVMe over Fabrics", texts.storageServer),
  of(MACHINES, "workstation.toml", "A workstation: two GPUs, eight drives on a switch card", texts.workstation),
  of(MACHINES, "collective.toml", "All-reduce over four accelerators", texts.collective),
  of(MACHINES, "rdma_write.toml", "Two servers and an InfiniBand cable", texts.rdmaWrite),
  of(PUBLISHED, "idt-t1-switch.toml", "IDT 2007: a network adapter behind a PES24N3A", texts.idtT1Switch),
  of(PUBLISHED, "idt-t5-switch.toml", "IDT 2007: storage adapters behind a PES24N3A", texts.idtT5Switch),
  of(PUBLISHED, "dell-1-gen3.toml", "Dell: MPI over FDR InfiniBand, Gen3", texts.dellGen3),
  of(PUBLISHED, "opp-1-turnaround.toml", "OpenPOWER 2018: an FPGA and a POWER9 turn around", texts.oppTurnaround),
  of(PUBLISHED, "opp-2-transactions.toml", "OpenPOWER 2018: transactions", texts.oppTransactions),
  of(PUBLISHED, "wis-1-both-ports.toml", "Two ConnectX-5, both ports", texts.wisBothPorts),
  of(PUBLISHED, "wis-1-two-adapters.toml", "Two ConnectX-5, two adapters", texts.wisTwoAdapters),
  of(PUBLISHED, "h3-2-direct.toml", "H3: two servers share a drawer of drives", texts.h3Direct),
];
