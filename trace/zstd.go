package trace

import (
	"errors"

	"github.com/klauspost/compress/zstd"
)

// packer compresses columns. Fastest is the right level only with entropy
// coding of literals forced on: our columns have no matches to find, and
// without it the encoder stores them as they are (a third larger).
type packer struct{ e *zstd.Encoder }

func newPacker() (*packer, error) {
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithAllLitEntropyCompression(true),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithSingleSegment(true),
		zstd.WithEncoderCRC(false)) // the block has one
	return &packer{e}, err
}

func (p *packer) pack(dst, src []byte) []byte { return p.e.EncodeAll(src, dst) }

// unpacker decompresses columns into buffers no larger than announced.
type unpacker struct{ d *zstd.Decoder }

func newUnpacker() (unpacker, error) {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxRaw+slack),
		zstd.WithDecodeAllCapLimit(true))
	return unpacker{d}, err
}

func (u *unpacker) close() {
	if u.d != nil {
		u.d.Close()
	}
}

// slack lets the decoder copy whole words past the end, its faster path.
const slack = 64

var errRawSize = errors.New("does not decode to its raw length")

// zstdBlock is the most that one zstd block, at least three bytes long, can
// decode to: a column cannot be longer than its stored bytes allow.
const zstdBlock = 128 << 10

func (u *unpacker) unpack(a *arena, src []byte, raw int) ([]byte, error) {
	if raw > (len(src)/3+1)*zstdBlock {
		return nil, errRawSize
	}
	b, err := u.d.DecodeAll(src, a.take(raw+slack))
	if err != nil {
		return nil, err
	}
	if len(b) != raw {
		return nil, errRawSize
	}
	return b, nil
}

// arena is where the columns of one block are unpacked, one after the other.
// It is used again for the next block.
type arena struct {
	b    []byte
	used int
}

func (a *arena) reset() { a.used = 0 }

// take gives an empty slice that n bytes fit into. What was taken before stays
// good even if the arena has to grow.
func (a *arena) take(n int) []byte {
	if len(a.b)-a.used < n {
		a.b, a.used = make([]byte, max(n, min(2*len(a.b), maxRaw))), 0
	}
	b := a.b[a.used : a.used : a.used+n]
	a.used += n
	return b
}
