/* A packet filter for IPv4: rules over addresses, protocol and ports; congestion marks for what passes at low priority. */
#include <core.p4>
#include <v1model.p4>

enum bit<8> Protocol {
    ICMP = 1,
    TCP  = 6,
    UDP  = 17
}

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<2>  ECN_CAPABLE_0  = 0b10;
const bit<2>  ECN_CAPABLE_1  = 2w1;
const bit<2>  ECN_MARK       = 2w3;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<1>  reserved;
    bit<1>  dont_fragment;
    bit<1>  more_fragments;
    bit<13> fragment_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header ports_t {
    bit<16> src;
    bit<16> dst;
}

header tcp_t {
    bit<32> sequence;
    bit<32> acknowledgment;
    bit<4>  data_offset;
    bit<4>  reserved;
    bit<8>  flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

struct headers {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ports_t    ports;
    tcp_t      tcp;
}

struct metadata { }

parser FilterParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default:        reject;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.ttl) {
            (4, 5, 1 .. 255): parse_upper;
            (_, _, _):        reject;
        }
    }

    state parse_upper {
        transition select(hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (0, Protocol.TCP): parse_tcp;
            (0, Protocol.UDP): parse_ports;
            default:           accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }

    state parse_tcp {
        packet.extract(hdr.ports);
        packet.extract(hdr.tcp);
        transition accept;
    }
}

control FilterVerifyChecksum(inout headers hdr, inout metadata meta) {
    apply { }
}

control FilterIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    bit<16> service = 0;
    bit<1>  opens   = 0;

    action deny() {
        mark_to_drop(standard_metadata);
    }

    action permit(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action permit_marked(bit<9> port, bit<6> dscp) {
        standard_metadata.egress_spec = port;
        hdr.ipv4.dscp = dscp;
    }

    action mark() {
        hdr.ipv4.ecn = ECN_MARK;
    }

    table rules {
        key = {
            hdr.ipv4.src      : ternary;
            hdr.ipv4.dst      : ternary;
            hdr.ipv4.protocol : exact;
            service           : range;
            opens             : ternary;
        }
        actions = {
            permit;
            permit_marked;
            deny;
        }
        const default_action = deny();
        const entries = {
            (_, 0x0a000000 &&& 0xff000000, 1, _, _)                          : permit(1);
            (0xc0a80000 &&& 0xffff0000, 0x0a000000 &&& 0xff000000, 6, 22, _) : permit(1);
            (_, 0x0a000000 &&& 0xff000000, 6, 1024 .. 65535, 0)              : permit(1);
            (_, 0x0a000050, 6, 80 .. 81, _)                                  : permit_marked(2, 10);
            (_, 0x0a000000 &&& 0xff000000, 17, 5683 .. 5684, _)              : permit_marked(3, 46);
        }
    }

    table marks {
        key = {
            hdr.ipv4.dscp : exact;
            hdr.ipv4.ecn  : ternary;
        }
        actions = {
            mark;
            NoAction;
        }
        const entries = {
            (10, ECN_CAPABLE_0) : mark();
            (10, ECN_CAPABLE_1) : mark();
        }
        default_action = NoAction();
    }

    apply {
        if (hdr.ports.isValid()) {
            service = hdr.ports.dst;
        }
        if (hdr.tcp.isValid()) {
            opens = (bit<1>) (hdr.tcp.flags & 0x12 == 0x02);      // SYN without ACK
        }
        switch (rules.apply().action_run) {
            permit_marked: { marks.apply(); }
            deny:          { exit; }
            default:       { }
        }
    }
}

control FilterEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control FilterComputeChecksum(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length, hdr.ipv4.identification,
              hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.fragment_offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control FilterDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
        packet.emit(hdr.tcp);
    }
}

V1Switch(FilterParser(), FilterVerifyChecksum(), FilterIngress(), FilterEgress(), FilterComputeChecksum(), FilterDeparser()) main;
