package trace

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
)

// segmentRef is a segment found in a file.
type segmentRef struct {
	file    string
	at, end int64 // end may be beyond the end of a file that still grows
	tag     uint32
	header  *Header
	index   int64 // offset of its index block, 0 if it has none that is known
}

// findSegments lists the segments of a file: by hopping from index to index
// from the end backwards and, for what has no index, by walking the headers.
func findSegments(f io.ReaderAt, name string, size int64, u *unpacker) ([]segmentRef, error) {
	var refs []segmentRef
	end, next := size, int64(math.MaxInt64)
	for end > 0 {
		ref, ok := segmentBefore(f, end, u)
		if !ok {
			break
		}
		ref.file, ref.end = name, next
		refs = append(refs, ref)
		end, next = ref.at, ref.at
	}
	slices.Reverse(refs)
	if end == 0 && len(refs) > 0 {
		return refs, nil
	}
	walked, err := walkSegments(f, name, end)
	if n := len(walked); n > 0 && len(refs) > 0 {
		walked[n-1].end = refs[0].at
	}
	return append(walked, refs...), err
}

// segmentBefore reads the trailer that ends at an offset and the start block it
// leads to.
func segmentBefore(f io.ReaderAt, end int64, u *unpacker) (segmentRef, bool) {
	var t [trailerSize]byte
	if end < trailerSize+2*headerSize {
		return segmentRef{}, false
	}
	if _, err := f.ReadAt(t[:], end-trailerSize); err != nil || string(t[16:]) != trailerMark {
		return segmentRef{}, false
	}
	length, body := binary.LittleEndian.Uint64(t[:]), binary.LittleEndian.Uint64(t[8:])
	if length > uint64(end) || body > maxStored || body+2*headerSize > length {
		return segmentRef{}, false
	}
	at, index := end-int64(length), end-int64(body)-headerSize
	h, tag, ok := readStart(f, at)
	if !ok {
		h, tag, ok = startFromIndex(f, index, u)
	}
	return segmentRef{at: at, tag: tag, header: h, index: index}, ok
}

// readStart reads a start block.
func readStart(f io.ReaderAt, at int64) (*Header, uint32, bool) {
	var b []byte
	in := fileInput{f}
	head, err := in.view(at, headerSize, &b)
	if err != nil {
		return nil, 0, false
	}
	h, err := parseHeader(head)
	if err != nil || h.kind != kindStart || h.stored > maxStart {
		return nil, 0, false
	}
	body, err := in.view(at+headerSize, int(h.stored), &b)
	if err != nil || len(body) != int(h.stored) || crc32.Checksum(body, castagnoli) != h.body {
		return nil, 0, false
	}
	s, err := parseStart(body)
	return s, h.tag, err == nil
}

// parseStart reads the JSON of a start block.
func parseStart(b []byte) (*Header, error) {
	h := new(Header)
	if err := json.Unmarshal(bytes.TrimSpace(b), h); err != nil {
		return nil, fmt.Errorf("start block: %w", err)
	}
	return h, h.check()
}

// startFromIndex finds the copy of a damaged start block in the index.
func startFromIndex(f io.ReaderAt, at int64, u *unpacker) (*Header, uint32, bool) {
	var b []byte
	var a arena
	in := fileInput{f}
	head, err := in.view(at, headerSize, &b)
	if err != nil {
		return nil, 0, false
	}
	h, err := parseHeader(head)
	if err != nil || h.kind != kindIndex || h.stored < trailerSize {
		return nil, 0, false
	}
	body, err := in.view(at+headerSize, int(h.stored), &b)
	if err != nil || len(body) != int(h.stored) || crc32.Checksum(body, castagnoli) != h.body {
		return nil, 0, false
	}
	var dir directory
	if dir.parse(body[:len(body)-trailerSize], int(h.columns)) != nil {
		return nil, 0, false
	}
	start, err := dir.bytes(colStartBlock, u, &a)
	if err != nil {
		return nil, 0, false
	}
	s, err := parseStart(start)
	return s, h.tag, err == nil
}

// walkSegments finds start blocks by walking the headers up to an offset.
func walkSegments(f io.ReaderAt, name string, end int64) ([]segmentRef, error) {
	var refs []segmentRef
	w := newWalker(fileInput{f}, name, 0, end, func(Damage) {})
	for {
		h, at, err := w.next()
		if errors.Is(err, io.EOF) {
			return refs, nil
		}
		if err != nil {
			return refs, err
		}
		if h.kind != kindStart {
			continue
		}
		start, tag, ok := readStart(f, at)
		if !ok {
			continue
		}
		if n := len(refs); n > 0 {
			refs[n-1].end = at
		}
		refs = append(refs, segmentRef{file: name, at: at, end: math.MaxInt64, tag: tag, header: start})
	}
}

// chain puts segments that continue each other into one list each, in their
// order; the first list is that of the trace that was named first.
func chain(refs []segmentRef) ([][]segmentRef, error) {
	order := map[string]int{}
	for _, r := range refs {
		if _, ok := order[r.header.Trace]; !ok {
			order[r.header.Trace] = len(order)
		}
	}
	slices.SortStableFunc(refs, func(a, b segmentRef) int {
		return cmp.Or(cmp.Compare(order[a.header.Trace], order[b.header.Trace]), cmp.Compare(a.header.Segment, b.header.Segment))
	})
	var chains [][]segmentRef
	for i, r := range refs {
		if i > 0 && r.header.Trace == refs[i-1].header.Trace {
			if r.header.Segment == refs[i-1].header.Segment {
				return nil, fmt.Errorf("%s and %s both hold segment %d of trace %s: name each once",
					refs[i-1].file, r.file, r.header.Segment, r.header.Trace)
			}
			chains[len(chains)-1] = append(chains[len(chains)-1], r)
			continue
		}
		chains = append(chains, []segmentRef{r})
	}
	return chains, nil
}
