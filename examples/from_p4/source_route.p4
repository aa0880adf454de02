/* Source routing: the sender lists the ports to take, and each switch removes the first of them. */
#include <core.p4>
#include <v1model.p4>

const bit<16> ETHERTYPE_ROUTE = 0x1234;
const bit<16> ETHERTYPE_TRACE = 0x1235;
const bit<32> MAX_HOPS = 8;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header hop_t {
    bit<1>  last;
    bit<6>  reserved;
    bit<9>  port;
}

header trace_t {
    bit<8>  count;
    bit<8>  limit;
    bit<16> id;
}

struct headers {
    ethernet_t      ethernet;
    trace_t         trace;
    hop_t[MAX_HOPS] hops;
}

struct metadata { }

parser RouteParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_ROUTE: parse_hops;
            ETHERTYPE_TRACE: parse_trace;
            default:         reject;
        }
    }

    state parse_trace {
        packet.extract(hdr.trace);
        transition select(packet.lookahead<bit<16>>()[14:9]) {
            0:       parse_hops;
            default: reject;
        }
    }

    state parse_hops {
        packet.extract(hdr.hops.next);
        transition select(hdr.hops.last.last) {
            1:       accept;
            default: parse_hops;
        }
    }
}

control RouteVerifyChecksum(inout headers hdr, inout metadata meta) {
    apply { }
}

control RouteIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action next_hop() {
        standard_metadata.egress_spec = hdr.hops[0].port;
        hdr.hops.pop_front(1);
    }

    action traced() {
        hdr.trace.count = hdr.trace.count |+| 1;
    }

    apply {
        if (hdr.trace.isValid()) {
            if (hdr.trace.count >= hdr.trace.limit) {
                drop();
                return;
            }
            traced();
        }
        if (hdr.hops[0].isValid()) {
            if (hdr.hops[0].last == 1) {
                hdr.trace.setInvalid();
                hdr.ethernet.type = 0x0800;
            }
            next_hop();
        } else {
            drop();
        }
    }
}

control RouteEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control RouteComputeChecksum(inout headers hdr, inout metadata meta) {
    apply { }
}

control RouteDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.trace);
        packet.emit(hdr.hops);
    }
}

V1Switch(RouteParser(), RouteVerifyChecksum(), RouteIngress(), RouteEgress(), RouteComputeChecksum(), RouteDeparser()) main;
