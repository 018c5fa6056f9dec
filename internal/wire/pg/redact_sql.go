package pg

import "bytes"

// setsOwn tells whether what stands before a value is a SET of one of the
// server's own settings. Such a value says how the session works, and is no data;
// settings of applications have a dot in their names.
func setsOwn(before []byte) bool {
	if bytes.ContainsAny(before, ";.\"'(") {
		return false
	}
	words := bytes.Fields(bytes.ReplaceAll(before, []byte("="), []byte(" = ")))
	return len(words) > 1 && bytes.EqualFold(words[0], []byte("set"))
}

// structural tells whether a number is a part of the statement: how many rows,
// the place of a column, the length of a type. With another in its place the
// statement would be another. stays is whether the number before was one.
func structural(before []byte, stays bool) bool {
	before = bytes.TrimRight(before, " \t\r\n(")
	if more := bytes.TrimRight(before, ", \t\r\n"); len(more) < len(before) {
		return stays && bytes.HasSuffix(more, []byte("?"))
	}
	last := bytes.LastIndexFunc(before, func(r rune) bool {
		return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == ',' || r == '(' || r == ':'
	})
	switch string(bytes.ToLower(before[last+1:])) {
	case "limit", "offset", "first", "next", "by",
		"varchar", "char", "character", "varying", "numeric", "decimal", "bit", "time", "timestamp", "timestamptz", "float":
		return true
	}
	return false
}
