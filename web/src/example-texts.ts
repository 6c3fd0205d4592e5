/** The texts of the example rigs, taken in when the page is built. */
export { default as collective } from "../../scenarios/collective.toml?raw";
export { default as firstRig } from "../../scenarios/first_rig.toml?raw";
export { default as nvmeFio } from "../../scenarios/nvme_fio.toml?raw";
export { default as oversubscribed } from "../../scenarios/oversubscribed.toml?raw";
export { default as peerToPeer } from "../../scenarios/peer_to_peer.toml?raw";
export { default as rdmaWrite } from "../../scenarios/rdma_write.toml?raw";
export { default as replay } from "../../scenarios/replay.toml?raw";
export { default as twoSockets } from "../../scenarios/two_sockets.toml?raw";
export { default as dellGen3 } from "../../experiments/dell-1/gen3.toml?raw";
export { default as h3Direct } from "../../experiments/h3-2/direct.toml?raw";
export { default as idtT1Switch } from "../../experiments/idt-t1/switch.toml?raw";
export { default as idtT5Switch } from "../../experiments/idt-t5/switch.toml?raw";
export { default as oppTransactions } from "../../experiments/opp-2/transactions.toml?raw";
export { default as oppTurnaround } from "../../experiments/opp-1/turnaround.toml?raw";
export { default as wisBothPorts } from "../../experiments/wis-1/both-ports.toml?raw";
export { default as wisTwoAdapters } from "../../experiments/wis-1/two-adapters.toml?raw";
