package sim

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// column of a result.
type column struct {
	name string
	oid  uint32
}

// result is what a statement has to say, as far as it has not been sent.
type result struct {
	tag   string
	rows  [][]value
	fixed int // in place of rows: as many rows with one number, or rows affected
	sent  int
}

// columns of what a statement returns, nil if it returns no rows.
func (s *Server) columns(st *Statement, types []uint32) []column {
	var all []column
	switch {
	case !st.rows:
		return nil
	case st.kind == keyed:
		for _, name := range st.access.columns {
			c := column{name, pgtype.Int8OID}
			if s.store.isText(st.access.table, name) {
				c.oid = pgtype.TextOID
			}
			all = append(all, c)
		}
	case st.kind == literal:
		for _, o := range st.values {
			c := column{"?column?", o.oid}
			if c.oid == 0 {
				c.oid = types[o.param-1]
			}
			all = append(all, c)
		}
	case st.kind == asked:
		names, _ := s.replyTo(st)
		for _, name := range names {
			all = append(all, column{name, pgtype.TextOID})
		}
	default:
		all = []column{{"?column?", pgtype.Int8OID}}
	}
	return all
}

func rowDescription(columns []column, formats []int16) *pgproto3.RowDescription {
	d := &pgproto3.RowDescription{}
	for i, c := range columns {
		d.Fields = append(d.Fields, pgproto3.FieldDescription{
			Name: []byte(c.name), DataTypeOID: c.oid, DataTypeSize: sizes[c.oid], TypeModifier: -1, Format: format(formats, i),
		})
	}
	return d
}

// sizes of the types there are; the others have 0, which nobody looks at.
var sizes = map[uint32]int16{
	pgtype.Int2OID: 2, pgtype.Int4OID: 4, pgtype.Int8OID: 8, pgtype.TextOID: -1, pgtype.VarcharOID: -1,
}

// deliver sends rows, as many as are wanted (0: all), and how it ended.
func (s *session) deliver(p *portal, most int) error {
	if p.kind == empty {
		s.backend.Send(&pgproto3.EmptyQueryResponse{})
		return nil
	}
	total := len(p.result.rows) + p.fixed
	n := total - p.sent
	suspended := most > 0 && len(p.columns) > 0 && n >= most // the server does not look further
	if suspended {
		n = most
	}
	if len(p.columns) > 0 {
		if err := s.deliverRows(p, n); err != nil {
			return err
		}
	}
	p.sent += n
	if suspended {
		s.backend.Send(&pgproto3.PortalSuspended{})
		return nil
	}
	tag := p.result.tag
	if p.counted {
		tag += " " + strconv.Itoa(n)
	}
	s.backend.Send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
	return nil
}

func (s *session) deliverRows(p *portal, n int) error {
	row := pgproto3.DataRow{Values: make([][]byte, len(p.columns))}
	for i := range n {
		from := []value{{text: strconv.Itoa(p.sent + i + 1)}}
		if p.fixed == 0 {
			from = p.result.rows[p.sent+i]
		}
		for c := range row.Values {
			row.Values[c] = encode(from[c], p.columns[c].oid, format(p.formats, c))
		}
		s.backend.Send(&row)
		if i%rowsAtOnce == rowsAtOnce-1 {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// of finds a value.
func (o operand) of(args []value) value {
	if o.param > 0 {
		return args[o.param-1]
	}
	return o.value
}

// decode makes the text of a parameter. What is binary and no integer is kept
// as it is.
func decode(b []byte, oid uint32, format int16) value {
	if b == nil {
		return value{null: true}
	}
	if format == pgproto3.BinaryFormat {
		switch {
		case oid == pgtype.Int2OID && len(b) == 2:
			return value{text: strconv.Itoa(int(int16(binary.BigEndian.Uint16(b))))}
		case oid == pgtype.Int4OID && len(b) == 4:
			return value{text: strconv.Itoa(int(int32(binary.BigEndian.Uint32(b))))}
		case oid == pgtype.Int8OID && len(b) == 8:
			return value{text: strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10)}
		case oid == pgtype.Float8OID && len(b) == 8:
			return value{text: strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(b)), 'g', -1, 64)}
		}
	}
	return value{text: string(b)}
}

// encode is the opposite of decode.
func encode(v value, oid uint32, format int16) []byte {
	if v.null {
		return nil
	}
	if format == pgproto3.BinaryFormat {
		n, _ := strconv.ParseInt(v.text, 10, 64) // 0 if it is none
		switch oid {
		case pgtype.Int2OID:
			return binary.BigEndian.AppendUint16(nil, uint16(n))
		case pgtype.Int4OID:
			return binary.BigEndian.AppendUint32(nil, uint32(n))
		case pgtype.Int8OID:
			return binary.BigEndian.AppendUint64(nil, uint64(n))
		}
	}
	return []byte(v.text)
}
