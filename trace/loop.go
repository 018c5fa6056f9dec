package trace

// loopStep is odd, so that no two loops give one session the same id, and far
// from a small number in every multiple, so that neighbouring ids of a recorder
// do not meet those of another loop.
const loopStep = 0x9E3779B97F4A7C15

// LoopSession is the id that a session of the source has in a loop of a run that
// went through the source several times. Loops count from 0, in which ids are the
// source's.
func LoopSession(id uint64, loop int) uint64 { return id + uint64(loop)*loopStep }

// SourceSession is the source's id of a session of a loop.
func SourceSession(id uint64, loop int) uint64 { return id - uint64(loop)*loopStep }
