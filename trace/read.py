#!/usr/bin/env python3
"""Reads a retrace trace as FORMAT.md says, and prints what it holds as JSON.

    python3 trace/read.py FILE

This is a second implementation of the format, written from its description and
not from the Go package, so that each can be tested by the other. It keeps the
whole file in memory and is slow: what it is for is being read. It needs the
module zstandard (Debian: python3-zstandard).
"""

import base64
import json
import struct
import sys

import zstandard

MAGIC = b"\xf7RT1"
HEADER = 64
MAX_BODY = 64 << 20
MAX_START = 64 << 10
STATUS = ["ok", "error", "skipped", "filtered", "lost", "unsent"]
KINDS = b"SDERTGI"


class Damaged(Exception):
    """This block says what the format forbids, or is not whole."""


class Refused(Exception):
    """This reader must not go on."""


# --- bytes ---------------------------------------------------------------

def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ 0x82F63B78 if n & 1 else n >> 1
        table.append(n)
    return table


CRC_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def uvarint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Damaged("a number does not end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                raise Damaged("a number of more than 64 bits")
            return value, at
        shift += 7


def uvarints(data):
    """All the numbers of a column."""
    numbers, at = [], 0
    while at < len(data):
        n, at = uvarint(data, at)
        numbers.append(n)
    return numbers


def unzigzag(v):
    return v >> 1 ^ -(v & 1)


def lossless(data):
    """A string where the bytes are UTF-8, else base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


# --- blocks --------------------------------------------------------------

class Header:
    def __init__(self, data, at):
        (self.magic, kind, self.flags, self.columns, self.stored, self.count, self.first, self.last, self.lanes,
         self.tag, self.number, self.needs, self.reserved, self.body_crc, crc) = struct.unpack_from("<4sBBHIIqqQIIIIII", data, at)
        self.kind = kind
        self.good = self.magic == MAGIC and crc == crc32c(data[at:at + 60]) and self.stored <= MAX_BODY

    def may_be_passed(self):
        return self.kind in KINDS or 97 <= self.kind <= 122


def header_at(data, at):
    """The header at an offset, None if there is no good one."""
    if at + HEADER > len(data) or data[at:at + 3] != MAGIC[:3]:
        return None
    if data[at:at + 4] != MAGIC:
        if crc32c(data[at:at + 60]) == struct.unpack_from("<I", data, at + 60)[0]:
            raise Refused("a trace of format version %r, this reads version 1" % chr(data[at + 3]))
        return None
    h = Header(data, at)
    return h if h.good else None


def body_of(data, at, h):
    """The body of a block, None if it is not whole."""
    body = data[at + HEADER:at + HEADER + h.stored]
    return body if len(body) == h.stored and crc32c(body) == h.body_crc else None


class Columns:
    """The columns of a block, by id."""

    def __init__(self, h, body):
        self.count = h.count
        self.found = {}
        entries = [struct.unpack_from("<BBHII", body, 12 * i) for i in range(h.columns)] if len(body) >= 12 * h.columns else None
        if entries is None or sum(e[3] for e in entries) > MAX_BODY:
            raise Damaged("the directory of columns")
        at = 12 * h.columns
        for ident, codec, _, raw, stored in entries:
            self.found[ident] = (codec, raw, body[at:at + stored])
            at += stored
            if at > len(body):
                raise Damaged("column %d is longer than the block" % ident)
        self.rest = body[at:]

    def __contains__(self, ident):
        return ident in self.found

    def bytes(self, ident):
        if ident not in self.found:
            return b""
        codec, raw, data = self.found[ident]
        if codec == 1:
            try:
                data = zstandard.ZstdDecompressor().decompress(data, max_output_size=max(raw, 1))
            except zstandard.ZstdError as err:
                raise Damaged(str(err)) from err
        elif codec != 0:
            raise Damaged("column %d has codec %d" % (ident, codec))
        if len(data) != raw:
            raise Damaged("column %d has another length" % ident)
        return data

    def numbers(self, ident, count=None):
        """count numbers, 0 where the column is absent; all there are without a count."""
        if ident not in self.found:
            return [0] * (count or 0)
        codec, raw, data = self.found[ident]
        if codec == 2:
            value, end = uvarint(data, 0)
            if end != len(data) or raw % end:
                raise Damaged("column %d repeats no number" % ident)
            numbers = [value] * (raw // end)
        else:
            numbers = uvarints(self.bytes(ident))
        if count is not None and len(numbers) != count:
            raise Damaged("column %d has %d numbers, not %d" % (ident, len(numbers), count))
        return numbers


# --- what blocks hold ----------------------------------------------------

class Entry:
    def __init__(self, op, prepare, types, shape, text):
        self.op, self.prepare, self.types, self.shape, self.text = op, prepare, types, shape, text
        self.holes = sum(1 for token, _ in tokens(shape) if token in (2, 3))

    def sql(self):
        return self.prepare.text if not self.text and self.prepare else self.text


def tokens(shape):
    """The tokens of a shape, each with its type byte or literal."""
    at = 0
    while at < len(shape):
        token, at = shape[at], at + 1
        if token == 0:
            if at >= len(shape):
                raise Damaged("a shape ends within a message")
            yield 0, shape[at:at + 1]
            at += 1
        elif token == 1:
            n, at = uvarint(shape, at)
            if at + n > len(shape):
                raise Damaged("a shape ends within a literal")
            yield 1, shape[at:at + n]
            at += n
        elif token in (2, 3):
            yield token, b""
        else:
            raise Damaged("a shape holds token %d" % token)


NULL, REDACTED = "null", "redacted"


def join(shape, values):
    """The bytes that the client sent; None if they cannot be told."""
    out, begun, values = bytearray(), None, iter(values)

    def end_message():
        if begun is not None:
            struct.pack_into(">i", out, begun + 1, len(out) - begun - 1)

    for token, data in tokens(shape):
        if token == 0:
            end_message()
            begun = len(out)
            out += data + b"\0\0\0\0"
        elif token == 1:
            out += data
        else:
            value = next(values)
            if value is REDACTED or value is NULL and token == 2:
                return None
            if token == 3:
                out += struct.pack(">i", -1 if value is NULL else len(value))
            if value is not NULL:
                out += value
    end_message()
    return bytes(out)


class Segment:
    def __init__(self, start, tag):
        self.start, self.tag = start, tag
        self.tick = start["tick_ns"]
        self.words = {}
        self.closed = False

    def word(self, ident):
        if ident not in self.words:
            raise Damaged("entry %d is not there" % ident)
        return self.words[ident]

    def reason(self, ref):
        return self.word(ref - 1).text.decode() if ref else ""

    def dictionary(self, h, c):
        prepare, type_count = c.numbers(2, h.count), c.numbers(3, h.count)
        ops, types = c.numbers(1, h.count), iter(c.numbers(4))
        shapes, texts = c.bytes(6), c.bytes(8)
        fresh = {}
        for i, (shape, text) in enumerate(zip(c.numbers(5, h.count), c.numbers(7, h.count))):
            ident = h.needs + i
            if prepare[i] > ident:
                raise Damaged("an entry is prepared by a later one")
            if shape > len(shapes) or text > len(texts):
                raise Damaged("the shapes are shorter than their sizes")
            before = prepare[i] and (fresh.get(prepare[i] - 1) or self.words.get(prepare[i] - 1))
            own = [next(types) for _ in range(type_count[i])]
            fresh[ident] = Entry(chr(ops[i]), before or None, own, shapes[:shape], texts[:text])
            shapes, texts = shapes[shape:], texts[text:]
        self.words.update(fresh)

    def replies(self, c, n, took, late):
        """The outcomes of n events, None where there is none yet."""
        columns = [c.numbers(i, n) for i in (9, 10, 11, 12, 13, 14, 17, 18)]
        for i in range(n):
            rows, size, status, state, tail, checksum, results, reason = (column[i] for column in columns)
            if took[i] == 0:
                if late:
                    raise Damaged("a late reply without a reply")
                yield None
                continue
            if tail > took[i] - 1:
                raise Damaged("a tail longer than the reply")
            yield {
                "took_ns": (took[i] - 1) * self.tick, "tail_ns": tail * self.tick, "rows": rows, "bytes": size,
                "results": results, "status": STATUS[status], "state": chr(state) if state else "", "reason": self.reason(reason),
                "checksum": checksum if 14 in c else None,
            }

    def events(self, h, c):
        n = h.count
        took, gap, shapes = c.numbers(5, n), c.numbers(4, n), c.numbers(6, n)
        due, flags, diverged = c.numbers(15, n), c.numbers(16, n), c.numbers(19, n)
        replies = list(self.replies(c, n, took, False))
        values = self.values(c, shapes)
        base, i = h.first // self.tick, 0
        for session, ordinal, length in runs(c):
            before = base
            for k in range(length):
                start = before + unzigzag(gap[i])
                before = start + max(took[i] - 1, 0)
                if not h.first <= start * self.tick <= h.last:
                    raise Damaged("a start outside of the block's")
                yield Event(session, ordinal + k, start * self.tick, self.word(shapes[i]), next(values), replies[i],
                            (start - unzigzag(due[i] - 1)) * self.tick if due[i] else None, flags[i], diverged[i])
                i += 1
        if i != n:
            raise Damaged("the runs are of %d events, not %d" % (i, n))

    def values(self, c, shapes):
        """The values of each event, None where none were kept."""
        holes = [self.word(s).holes for s in shapes]
        if 7 not in c:
            for n in holes:
                yield None if n or "run" in self.start else []
            return
        sizes, data, at = iter(c.numbers(7, sum(holes))), c.bytes(8), 0
        for n in holes:
            own = []
            for _ in range(n):
                size = next(sizes)
                if size >= 2:
                    own.append(data[at:at + size - 2])
                    at += size - 2
                else:
                    own.append(REDACTED if size else NULL)
            yield own
        if at != len(data):
            raise Damaged("the values have another length than their sizes")

    def late(self, h, c):
        n = h.count
        shapes = c.numbers(6, n)
        replies = self.replies(c, n, c.numbers(5, n), True)
        i = 0
        for session, ordinal, length in runs(c):
            for k in range(length):
                entry = self.word(shapes[i] - 1) if shapes[i] else None
                yield session, ordinal + k, next(replies), entry
                i += 1


def runs(c):
    session = 0
    sessions = c.numbers(1)
    for delta, length, ordinal in zip(sessions, c.numbers(2, len(sessions)), c.numbers(3, len(sessions))):
        session = (session + delta) % 2**64
        yield session, ordinal, length


class Event:
    def __init__(self, session, ordinal, start, entry, values, reply, due, flags, diverged):
        self.session, self.ordinal, self.start, self.entry = session, ordinal, start, entry
        self.values, self.reply, self.due, self.flags, self.diverged = values, reply, due, flags, diverged

    def document(self):
        over = bool(self.flags & 2)
        request, values = None, None
        if self.values is not None:
            if not over:
                request = join(self.entry.shape, self.values)
            values = [None if v is NULL else {"redacted": True} if v is REDACTED else lossless(v) for v in self.values]
        return {
            "session": self.session, "ordinal": self.ordinal, "start_ns": self.start, "op": self.entry.op,
            "sql": lossless(self.entry.sql()), "types": self.entry.types,
            "values": values, "request": None if request is None else lossless(request),
            "request_end": bool(self.flags & 1), "over_limit": over, "due_ns": self.due, "diverged": self.diverged, "reply": self.reply,
        }


# --- the trace -----------------------------------------------------------

class Reader:
    def __init__(self, data):
        self.data = data
        self.segment = None
        self.skipping = False  # this segment came before
        self.number = -1
        self.damaged = False
        self.closed = True
        self.starts, self.event_list, self.states, self.gaps = [], [], [], []
        self.waiting = {}

    def read(self):
        if header_at(self.data, 0) is None and self.data[:4] != MAGIC:
            raise Refused("not a trace")
        at, bad = 0, False  # bad: the body of the last block was not whole
        resume = 0          # from where to search if no header stands at `at`
        while at < len(self.data) or bad:
            h = header_at(self.data, at)
            if h is None:
                self.damaged = True
                at = self.search(resume if bad else at, bad)
                if at is None:
                    break
                h = header_at(self.data, at)
            if h.flags or h.reserved:
                raise Refused("flags that this reader does not know")
            body = body_of(self.data, at, h)
            bad = body is None
            resume = at + HEADER
            self.damaged |= bad
            self.count(h)
            if not bad:
                self.take(h, body)
            at += HEADER + h.stored
        self.leave()

    def count(self, h):
        """Notices blocks that are missing."""
        if h.kind == ord("S"):
            self.number = h.number
        elif self.segment and h.tag == self.segment.tag:
            self.damaged |= h.number > self.number + 1
            self.number = h.number

    def search(self, at, bad):
        """The next block after damage, by the two rules of the page."""
        same = start = None
        for i in find_all(self.data, MAGIC, at):
            if start is not None and i > start + HEADER + MAX_BODY:
                break
            h = header_at(self.data, i)
            if h is None or not h.may_be_passed():
                continue
            if h.kind == ord("S"):
                if start is None and h.stored <= MAX_START and body_of(self.data, i, h) is not None:
                    start = i
            elif self.segment and h.tag == self.segment.tag and h.number >= self.number + (0 if bad else 1):
                same = i
                break
        return same if same is not None else start

    def take(self, h, body):
        kind = chr(h.kind)
        if kind == "S":
            return self.start(h, body)
        if not self.segment or h.tag != self.segment.tag:
            self.damaged = True  # of a segment whose start block was not read
        elif self.skipping or kind.islower():
            pass
        elif h.kind not in KINDS:
            raise Refused("block of kind %r is unknown" % kind)
        else:
            try:
                self.block(kind, h, Columns(h, body))
            except (Damaged, ValueError, StopIteration, RuntimeError, IndexError):
                self.damaged = True

    def block(self, kind, h, c):
        if kind == "D":
            self.segment.dictionary(h, c)
        elif kind == "E":
            for e in list(self.segment.events(h, c)):
                self.event_list.append(e)
                if e.reply is None:
                    self.waiting[e.session, e.ordinal] = e
        elif kind == "R":
            for session, ordinal, reply, entry in list(self.segment.late(h, c)):
                e = self.waiting.pop((session, ordinal), None)
                if e:
                    e.reply, e.entry = reply, entry or e.entry
        elif kind in "TG":
            lines = c.bytes(1).decode().split("\n")
            if lines.pop() or len(lines) != h.count:
                raise Damaged("%d records, not %d" % (len(lines), h.count))
            (self.states if kind == "T" else self.gaps).extend(json.loads(line) for line in lines)
        else:
            self.segment.closed = len(c.rest) == 24 and c.rest.endswith(b"TRACEEND")

    def start(self, h, body):
        start = json.loads(body)
        if start["retrace"] != 1:
            raise Refused("a trace of format version %s, this reads version 1" % start["retrace"])
        self.leave()
        self.skipping = False
        before = self.segment and self.segment.start
        if before and before["trace"] == start["trace"]:
            self.skipping = start["segment"] <= before["segment"]
            self.damaged |= start["segment"] != before["segment"] + 1
        self.segment = Segment(start, h.tag)
        if not self.skipping:
            self.starts.append(start)

    def leave(self):
        if self.segment and not self.segment.closed:
            self.closed = False

    def document(self):
        return {
            "segments": [{"trace": s["trace"], "segment": s["segment"], "engine": s["engine"], "made_by": s["made_by"],
                          "run_of": s["run"]["source"] if "run" in s else None} for s in self.starts],
            "events": [e.document() for e in sorted(self.event_list, key=lambda e: (e.session, e.ordinal))],
            "states": self.states, "gaps": self.gaps,
            "damaged": self.damaged, "complete": self.closed and not self.damaged,
        }


def find_all(data, what, at):
    while (at := data.find(what, at)) >= 0:
        yield at
        at += 1


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as f:
        reader = Reader(f.read())
    try:
        reader.read()
    except Refused as err:
        sys.exit("%s: %s" % (sys.argv[1], err))
    json.dump(reader.document(), sys.stdout, indent=1, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main()
