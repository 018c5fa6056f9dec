// Package capture is a proxy that passes database sessions on byte for byte and
// records a copy of them as a trace.
//
// A pump moves the bytes of a session both ways. Once they have gone on, it
// shows them to the session's tap, which understands the protocol and queues
// what happened as rows. One encoder turns rows into a trace. Each of these
// stands alone: a pump knows nothing of protocols, a tap nothing of sockets or
// files, and the encoder may be as slow as the disk without the traffic
// noticing, because the queue between has a bound: over it events are dropped,
// in whole requests and whole transactions, and named in gaps.
package capture
