-- Wireshark dissector of traces that `lanewise trace --format pcapng` writes (link type USER0).
--
-- Load it with `tshark -X lua_script:lanewise.lua`, or put it into Wireshark's folder for plugins (Help > About > Folders).
-- The layout is told in docs/reference/trace-formats.md. It needs Wireshark 3.6 or newer.

local VERSION = 1
local NONE = 0xffff
local TICKS_IN_NS = 1024000

local KINDS = { [1] = "TLP", [2] = "DLLP" }

-- In the order of the simulator's causes, from 1 on.
local CAUSES = {
  "wire", "arbitration", "dllp", "ordered_set", "replay", "posted_header", "posted_data",
  "non_posted_header", "non_posted_data", "completion_header", "completion_data", "retry_buffer",
  "ordering", "core", "tlp_gap", "down", "waking", "boundary", "tags", "tracking_entries", "shared_queue",
  "completion_queue",
}

-- Fmt and Type together: PCIe Base section 2.2.1.
local TLP_TYPES = {
  [0x00] = "MRd", [0x20] = "MRd", [0x01] = "MRdLk", [0x21] = "MRdLk", [0x40] = "MWr", [0x60] = "MWr",
  [0x02] = "IORd", [0x42] = "IOWr", [0x04] = "CfgRd0", [0x44] = "CfgWr0", [0x05] = "CfgRd1", [0x45] = "CfgWr1",
  [0x0a] = "Cpl", [0x4a] = "CplD", [0x0b] = "CplLk", [0x4b] = "CplDLk",
  [0x4c] = "FetchAdd", [0x6c] = "FetchAdd", [0x4d] = "Swap", [0x6d] = "Swap", [0x4e] = "CAS", [0x6e] = "CAS",
  [0x5b] = "DMWr", [0x7b] = "DMWr",
}
for routing = 0, 7 do
  TLP_TYPES[0x30 + routing] = "Msg"
  TLP_TYPES[0x70 + routing] = "MsgD"
end

local STATUSES = { [0] = "SC", [1] = "UR", [2] = "RRS", [4] = "CA" }

-- The upper four bits of the type of a DLLP: PCIe Base section 3.5.
local FLOW_CONTROL = {
  [0x4] = "InitFC1-P", [0x5] = "InitFC1-NP", [0x6] = "InitFC1-Cpl",
  [0xc] = "InitFC2-P", [0xd] = "InitFC2-NP", [0xe] = "InitFC2-Cpl",
  [0x8] = "UpdateFC-P", [0x9] = "UpdateFC-NP", [0xa] = "UpdateFC-Cpl",
}
local SCALES = { [0] = 1, [1] = 1, [2] = 4, [3] = 16 }

local lanewise = Proto("lanewise", "Lanewise PCI Express trace")
local f = {
  version = ProtoField.uint8("lanewise.version", "Version of the record"),
  kind = ProtoField.uint8("lanewise.kind", "Kind", base.DEC, KINDS),
  flags = ProtoField.uint16("lanewise.flags", "Flags", base.HEX),
  again = ProtoField.bool("lanewise.again", "Sent again", 16, nil, 0x01),
  nullified = ProtoField.bool("lanewise.nullified", "Nullified", 16, nil, 0x02),
  header_known = ProtoField.bool("lanewise.header_known", "Header is known", 16, nil, 0x04),
  count_known = ProtoField.bool("lanewise.byte_count_known", "Byte count is known", 16, nil, 0x08),
  last_completion = ProtoField.bool("lanewise.last_completion", "Last completion of its request", 16, nil, 0x10),
  in_flit = ProtoField.bool("lanewise.in_flit", "In a flit", 16, nil, 0x20),
  channel = ProtoField.uint8("lanewise.vc", "Virtual channel"),
  start = ProtoField.double("lanewise.start_ns", "First byte at the transmitter's pins, ns"),
  span = ProtoField.double("lanewise.span_ns", "On the wire for, ns"),
  link = ProtoField.uint16("lanewise.link", "Number of the link"),
  whole_address = ProtoField.uint64("lanewise.address", "Address of the first byte in memory", base.HEX),
  issued = ProtoField.double("lanewise.issued_ns", "Request was issued, ns"),
  ready = ProtoField.double("lanewise.ready_ns", "Could leave, ns"),
  waited = ProtoField.double("lanewise.waited_ns", "Waited here, ns"),
  sequence = ProtoField.uint16("lanewise.sequence", "Sequence number"),
  header_credits = ProtoField.uint16("lanewise.credits.header", "Header credits left, or limit"),
  data_credits = ProtoField.uint16("lanewise.credits.data", "Data credits left, or limit"),
  queue_depth = ProtoField.uint16("lanewise.queue_depth", "TLPs of its class behind it"),
  wait = ProtoField.none("lanewise.wait", "Waited for"),
  wait_cause = ProtoField.uint8("lanewise.wait.cause", "Cause", base.DEC, CAUSES),
  wait_ns = ProtoField.double("lanewise.wait.ns", "Time, ns"),
  tlp = ProtoField.none("lanewise.tlp", "Transaction layer packet"),
  tlp_type = ProtoField.uint8("lanewise.tlp.type", "Fmt and Type", base.HEX, TLP_TYPES),
  name = ProtoField.string("lanewise.tlp.name", "What it is"),
  tc = ProtoField.uint8("lanewise.tlp.tc", "Traffic class"),
  digest = ProtoField.bool("lanewise.tlp.td", "Digest (TD)"),
  poisoned = ProtoField.bool("lanewise.tlp.ep", "Poisoned (EP)"),
  id_ordering = ProtoField.bool("lanewise.tlp.attr.ido", "ID-based ordering"),
  relaxed = ProtoField.bool("lanewise.tlp.attr.ro", "Relaxed ordering"),
  no_snoop = ProtoField.bool("lanewise.tlp.attr.ns", "No snoop"),
  length = ProtoField.uint16("lanewise.tlp.length_dw", "Length, DW"),
  bytes = ProtoField.uint16("lanewise.tlp.bytes", "Bytes meant"),
  requester = ProtoField.string("lanewise.tlp.requester_id", "Requester ID"),
  completer = ProtoField.string("lanewise.tlp.completer_id", "Completer ID"),
  tag = ProtoField.uint16("lanewise.tlp.tag", "Tag"),
  first_be = ProtoField.uint8("lanewise.tlp.first_be", "First byte enables", base.HEX),
  last_be = ProtoField.uint8("lanewise.tlp.last_be", "Last byte enables", base.HEX),
  address = ProtoField.uint64("lanewise.tlp.address", "Address", base.HEX),
  lower_address = ProtoField.uint8("lanewise.tlp.lower_address", "Lower address", base.HEX),
  status = ProtoField.uint8("lanewise.tlp.status", "Completion status", base.DEC, STATUSES),
  byte_count = ProtoField.uint16("lanewise.tlp.byte_count", "Byte count left"),
  register = ProtoField.uint16("lanewise.tlp.register", "Register", base.HEX),
  request_in = ProtoField.framenum("lanewise.tlp.request_in", "Request in", base.NONE, frametype.REQUEST),
  completion_in = ProtoField.framenum("lanewise.tlp.completion_in", "Completion in", base.NONE, frametype.RESPONSE),
  since_request = ProtoField.double("lanewise.tlp.since_request_ns", "Since the request on this link, ns"),
  dllp = ProtoField.none("lanewise.dllp", "Data link layer packet"),
  dllp_type = ProtoField.uint8("lanewise.dllp.type", "Type", base.HEX),
  dllp_name = ProtoField.string("lanewise.dllp.name", "What it is"),
  dllp_sequence = ProtoField.uint16("lanewise.dllp.sequence", "AckNak_Seq_Num"),
  dllp_vc = ProtoField.uint8("lanewise.dllp.vc", "Virtual channel"),
  header_scale = ProtoField.uint8("lanewise.dllp.header_scale", "Credits in a step of HdrFC"),
  header_fc = ProtoField.uint16("lanewise.dllp.header_fc", "HdrFC"),
  data_scale = ProtoField.uint8("lanewise.dllp.data_scale", "Credits in a step of DataFC"),
  data_fc = ProtoField.uint16("lanewise.dllp.data_fc", "DataFC"),
  crc = ProtoField.uint16("lanewise.dllp.crc", "CRC", base.HEX),
}
lanewise.fields = f

local e = {
  again = ProtoExpert.new("lanewise.expert.again", "Sent again", expert.group.SEQUENCE, expert.severity.NOTE),
  nullified = ProtoExpert.new("lanewise.expert.nullified", "Nullified", expert.group.CHECKSUM, expert.severity.WARN),
  poisoned = ProtoExpert.new("lanewise.expert.poisoned", "Poisoned", expert.group.PROTOCOL, expert.severity.WARN),
  failed = ProtoExpert.new("lanewise.expert.failed", "Not successful", expert.group.RESPONSE_CODE, expert.severity.WARN),
  version = ProtoExpert.new("lanewise.expert.version", "Another version of the record", expert.group.UNDECODED, expert.severity.ERROR),
}
lanewise.experts = e

-- Of each request its frame and start, and the frames of its completions; by link, requester, tag and issue.
local requests = {}

function lanewise.init()
  requests = {}
end

local function ns(range)
  return range:uint64():tonumber() / TICKS_IN_NS
end

local function id_text(number)
  return string.format("%02x:%02x.%x", bit.rshift(number, 8), bit.band(bit.rshift(number, 3), 0x1f), bit.band(number, 7))
end

-- A 16-bit number of the record that may be missing.
local function maybe(tree, field, range)
  if range:uint() ~= NONE then
    tree:add(field, range)
    return range:uint()
  end
  return nil
end

local function waits(buffer, tree)
  local parts = buffer(7, 1):uint()
  local at = 64
  for _ = 1, parts do
    local range = buffer(at, 9)
    local cause = CAUSES[range(0, 1):uint()] or "unknown"
    local part = tree:add(f.wait, range)
    part:set_text(string.format("Waited for %s: %.3f ns", cause, ns(range(1, 8))))
    part:add(f.wait_cause, range(0, 1))
    part:add(f.wait_ns, range(1, 8), ns(range(1, 8)))
    at = at + 9
  end
end

-- What tells a request and its completions apart from others, on one link.
local function transaction(record, requester, tag)
  return string.format("%s/%s/%d/%s", record.link, requester, tag, record.issued)
end

local function remember(pinfo, key, is_request, start)
  local found = requests[key]
  if found == nil then
    found = { completions = {} }
    requests[key] = found
  end
  if not pinfo.visited then
    if is_request then
      if found.frame == nil then
        found.frame, found.start = pinfo.number, start
      end
    else
      table.insert(found.completions, pinfo.number)
    end
  end
  return found
end

local function show_request(tree, pinfo, record, requester, tag)
  local found = remember(pinfo, transaction(record, requester, tag), true, record.start)
  for _, frame in ipairs(found.completions) do
    tree:add(f.completion_in, frame):set_generated()
  end
end

local function show_completion(tree, pinfo, record, requester, tag)
  local found = remember(pinfo, transaction(record, requester, tag), false, record.start)
  if found.frame ~= nil then
    tree:add(f.request_in, found.frame):set_generated()
    tree:add(f.since_request, record.start - found.start):set_generated()
  end
end

local function completion(header, tree, pinfo, record)
  tree:add(f.completer, header(4, 2), id_text(header(4, 2):uint()))
  local status = header(6, 1):bitfield(0, 3)
  local item = tree:add(f.status, header(6, 1), status)
  if status ~= 0 then
    item:add_proto_expert_info(e.failed)
  end
  if record.count_known then
    local count = bit.band(header(6, 2):uint(), 0xfff)
    tree:add(f.byte_count, header(6, 2), count == 0 and 4096 or count)
  end
  local requester = id_text(header(8, 2):uint())
  tree:add(f.requester, header(8, 2), requester)
  tree:add(f.tag, header(10, 1), record.tag)
  tree:add(f.lower_address, header(11, 1), bit.band(header(11, 1):uint(), 0x7f))
  show_completion(tree, pinfo, record, requester, record.tag)
  return string.format("tag %d, of %s", record.tag, requester), id_text(header(4, 2):uint()), requester
end

local function request(header, name, tree, pinfo, record)
  local requester = id_text(header(4, 2):uint())
  local says = "of " .. requester
  tree:add(f.requester, header(4, 2), requester)
  if record.tag ~= nil then
    tree:add(f.tag, header(6, 1), record.tag)
    says = string.format("tag %d, %s", record.tag, says)
  end
  if name == "Msg" or name == "MsgD" then
    return says, requester, nil
  end
  tree:add(f.last_be, header(7, 1), header(7, 1):bitfield(0, 4))
  tree:add(f.first_be, header(7, 1), header(7, 1):bitfield(4, 4))
  if name:sub(1, 3) == "Cfg" then
    tree:add(f.completer, header(8, 2), id_text(header(8, 2):uint()))
    tree:add(f.register, header(10, 2), bit.band(header(10, 2):uint(), 0xffc))
  elseif header:len() == 16 then
    tree:add(f.address, header(8, 8))
    says = string.format("%s at 0x%s", says, header(8, 8):uint64():tohex():gsub("^0+(.)", "%1"))
  else
    tree:add(f.address, header(8, 4), UInt64(header(8, 4):uint(), 0))
    says = string.format("%s at 0x%x", says, header(8, 4):uint())
  end
  if record.tag ~= nil then
    show_request(tree, pinfo, record, requester, record.tag)
  end
  return says, requester, nil
end

local function tlp(header, tree, pinfo, record)
  local item = tree:add(f.tlp, header)
  if header:len() < 12 then
    item:set_text("Transaction layer packet that the receiver has already")
    pinfo.cols.info = "TLP again, the receiver has it"
    return
  end
  local name = TLP_TYPES[header(0, 1):uint()] or "TLP"
  item:add(f.tlp_type, header(0, 1))
  item:add(f.name, header(0, 1), name)
  item:add(f.tc, header(1, 1), header(1, 1):bitfield(1, 3))
  item:add(f.id_ordering, header(1, 1), header(1, 1):bitfield(5, 1) == 1)
  item:add(f.digest, header(2, 1), header(2, 1):bitfield(0, 1) == 1)
  local poisoned = header(2, 1):bitfield(1, 1) == 1
  local poison = item:add(f.poisoned, header(2, 1), poisoned)
  if poisoned then
    poison:add_proto_expert_info(e.poisoned)
  end
  item:add(f.relaxed, header(2, 1), header(2, 1):bitfield(2, 1) == 1)
  item:add(f.no_snoop, header(2, 1), header(2, 1):bitfield(3, 1) == 1)
  local length = bit.band(header(2, 2):uint(), 0x3ff)
  if length == 0 and name ~= "Cpl" and name ~= "CplLk" and name ~= "Msg" then
    length = 1024
  end
  item:add(f.length, header(2, 2), length)
  item:add(f.bytes, record.bytes_range)
  local says, source, destination
  if name:sub(1, 3) == "Cpl" then
    says, source, destination = completion(header, item, pinfo, record)
  else
    says, source, destination = request(header, name, item, pinfo, record)
  end
  item:set_text(string.format("Transaction layer packet: %s, %d B, %s", name, record.bytes_range:uint(), says))
  pinfo.cols.info = string.format("%s %d B, %s", name, record.bytes_range:uint(), says)
  pinfo.cols.src = source
  if destination ~= nil then
    pinfo.cols.dst = destination
  end
end

local function dllp(content, tree, pinfo)
  local item = tree:add(f.dllp, content)
  local kind = content(0, 1):uint()
  item:add(f.dllp_type, content(0, 1))
  local name = FLOW_CONTROL[bit.rshift(kind, 4)]
  local says
  if name ~= nil then
    local header_scale, data_scale = content(1, 1):bitfield(0, 2), content(2, 1):bitfield(2, 2)
    local header_fc, data_fc = content(1, 2):bitfield(2, 8), content(2, 2):bitfield(4, 12)
    item:add(f.dllp_name, content(0, 1), name)
    item:add(f.dllp_vc, content(0, 1), bit.band(kind, 7))
    item:add(f.header_scale, content(1, 1), SCALES[header_scale])
    item:add(f.header_fc, content(1, 2), header_fc)
    item:add(f.data_scale, content(2, 1), SCALES[data_scale])
    item:add(f.data_fc, content(2, 2), data_fc)
    says = string.format("%s VC%d, headers %d, data %d", name, bit.band(kind, 7), header_fc * SCALES[header_scale],
      data_fc * SCALES[data_scale])
  else
    name = kind == 0x10 and "Nak" or "Ack"
    local sequence = bit.band(content(2, 2):uint(), 0xfff)
    item:add(f.dllp_name, content(0, 1), name)
    item:add(f.dllp_sequence, content(2, 2), sequence)
    says = string.format("%s %d", name, sequence)
  end
  item:add(f.crc, content(4, 2))
  item:set_text("Data link layer packet: " .. says)
  pinfo.cols.info = says
end

function lanewise.dissector(buffer, pinfo, tree)
  pinfo.cols.protocol = "PCIe"
  local item = tree:add(lanewise, buffer())
  if buffer:len() < 4 or buffer(0, 1):uint() ~= VERSION or buffer:len() < buffer(2, 2):uint() then
    item:add_proto_expert_info(e.version)
    return
  end
  local kind, length = buffer(1, 1):uint(), buffer(2, 2):uint()
  item:add(f.version, buffer(0, 1))
  item:add(f.kind, buffer(1, 1))
  local flags = item:add(f.flags, buffer(4, 2))
  for _, flag in ipairs({ f.header_known, f.count_known, f.last_completion, f.in_flit }) do
    flags:add(flag, buffer(4, 2))
  end
  local set = buffer(4, 2):uint()
  local again, nullified = flags:add(f.again, buffer(4, 2)), flags:add(f.nullified, buffer(4, 2))
  if bit.band(set, 1) ~= 0 then
    again:add_proto_expert_info(e.again)
  end
  if bit.band(set, 2) ~= 0 then
    nullified:add_proto_expert_info(e.nullified)
  end
  item:add(f.channel, buffer(6, 1))
  item:add(f.start, buffer(8, 8), ns(buffer(8, 8)))
  item:add(f.span, buffer(16, 8), ns(buffer(16, 8)))
  item:add(f.link, buffer(60, 2))
  maybe(item, f.sequence, buffer(48, 2))
  maybe(item, f.header_credits, buffer(54, 2))
  maybe(item, f.data_credits, buffer(56, 2))
  local content = buffer(length)
  if kind == 1 then
    maybe(item, f.queue_depth, buffer(58, 2))
    item:add(f.issued, buffer(24, 8), ns(buffer(24, 8)))
    item:add(f.ready, buffer(32, 8), ns(buffer(32, 8)))
    if bit.band(set, 4) ~= 0 then
      item:add(f.whole_address, buffer(40, 8))
      item:add(f.waited, ns(buffer(8, 8)) - ns(buffer(32, 8))):set_generated()
    end
    waits(buffer, item)
    local tag = buffer(50, 2):uint()
    tlp(content, item, pinfo, {
      tag = tag ~= NONE and tag or nil,
      bytes_range = buffer(52, 2),
      issued = buffer(24, 8):uint64():tohex(),
      start = ns(buffer(8, 8)),
      count_known = bit.band(set, 8) ~= 0,
      link = buffer(60, 2):uint(),
    })
  else
    dllp(content, item, pinfo)
  end
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, lanewise)
