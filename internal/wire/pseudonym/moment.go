package pseudonym

import (
	"bytes"
	"time"
)

// moment takes a date, a time, or both with or without an offset. A date stays
// in its century, an offset as it is.
func (k *Key) moment(dst, v []byte) ([]byte, bool) {
	out, rest, dated := k.date(dst, v)
	if dated {
		if len(rest) == 0 {
			return out, true
		}
		if rest[0] != ' ' && rest[0] != 'T' {
			return dst, false
		}
		out, rest = append(out, rest[0]), rest[1:]
	}
	out, rest, ok := k.clock(out, rest)
	if !ok || !offset(rest) {
		return dst, false
	}
	return append(out, rest...), true
}

const isoDate = "2006-01-02"

func (k *Key) date(dst, v []byte) (out, rest []byte, ok bool) {
	if len(v) < len(isoDate) || v[4] != '-' || v[7] != '-' {
		return dst, v, false
	}
	t, err := time.Parse(isoDate, string(v[:len(isoDate)]))
	if err != nil || t.Year() == 0 {
		return dst, v, false
	}
	first := time.Date(max(t.Year()/100*100, 1), 1, 1, 0, 0, 0, 0, time.UTC)
	next := time.Date(t.Year()/100*100+100, 1, 1, 0, 0, 0, 0, time.UTC)
	days := func(from, to time.Time) uint64 { return uint64(to.Unix()-from.Unix()) / 86400 }
	day := k.permute(days(first, t), days(first, next), 2<<28)
	return first.AddDate(0, 0, int(day)).AppendFormat(dst, isoDate), v[len(isoDate):], true
}

// clock takes HH:MM, HH:MM:SS and fractions of it.
func (k *Key) clock(dst, v []byte) (out, rest []byte, ok bool) {
	form, unit := "15:04:05", uint64(1)
	if len(v) < 8 || v[5] != ':' {
		form, unit = "15:04", 60
	}
	if len(v) < len(form) {
		return dst, v, false
	}
	t, err := time.Parse(form, string(v[:len(form)]))
	if err != nil {
		return dst, v, false
	}
	rest = v[len(form):]
	x := uint64(t.Hour()*3600+t.Minute()*60+t.Second()) / unit
	x = k.permute(x, 86400/unit, 3<<28) * unit
	dst = time.Unix(int64(x), 0).UTC().AppendFormat(dst, form)
	if len(rest) > 1 && rest[0] == '.' && unit == 1 {
		n := digits(rest[1:])
		dst = k.fraction(append(dst, '.'), rest[1:1+n])
		rest = rest[1+n:]
	}
	return dst, rest, true
}

// offset tells whether v is none, or one such as Z, +02, -05:30 and UTC.
func offset(v []byte) bool {
	v = bytes.TrimPrefix(v, []byte(" "))
	switch string(v) {
	case "", "Z", "z", "UTC":
		return true
	}
	if v[0] != '+' && v[0] != '-' || len(v) > len("+00:00:00") {
		return false
	}
	for _, c := range v[1:] {
		if c != ':' && (c < '0' || c > '9') {
			return false
		}
	}
	return len(v) > 2
}

// span takes an interval in words, such as 3 days: the numbers become others.
func (k *Key) span(dst, v []byte) ([]byte, bool) {
	words := bytes.Split(v, []byte(" "))
	if len(words) < 2 || len(words)%2 != 0 || len(v) > 64 {
		return dst, false
	}
	out := dst
	for i := 0; i < len(words); i += 2 {
		number, negative := bytes.CutPrefix(words[i], []byte("-"))
		if !unit(words[i+1]) || len(number) == 0 || len(number) > 9 || digits(number) != len(number) {
			return dst, false
		}
		if i > 0 {
			out = append(out, ' ')
		}
		if negative {
			out = append(out, '-')
		}
		out = append(k.whole(out, number, negative), ' ')
		out = append(out, words[i+1]...)
	}
	return out, true
}

func unit(word []byte) bool {
	switch string(bytes.TrimSuffix(bytes.ToLower(word), []byte("s"))) {
	case "microsecond", "millisecond", "second", "sec", "minute", "min", "hour", "day", "week", "month", "mon", "year":
		return true
	}
	return false
}
