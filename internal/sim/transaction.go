package sim

// transaction is the state of a session's transaction and what would have to be
// taken back.
type transaction struct {
	state      byte // I, T or E, as in ReadyForQuery
	written    []undo
	savepoints []mark
}

type mark struct {
	name string
	at   int // length of written
}

// keep makes what was written stay.
func (t *transaction) keep() {
	clear(t.written)
	t.written, t.savepoints = t.written[:0], t.savepoints[:0]
}

// takeBack undoes what was written after the first n writes.
func (t *transaction) takeBack(n int) {
	for i := len(t.written) - 1; i >= n; i-- {
		t.written[i]()
		t.written[i] = nil
	}
	t.written = t.written[:n]
}

// abort is what an error does.
func (t *transaction) abort() {
	switch t.state {
	case 'T':
		t.state = 'E'
	case 'I': // a transaction of one statement, or one pipeline
		t.takeBack(0)
	}
}

// end is COMMIT or ROLLBACK; it returns the tag of what has come of it.
func (t *transaction) end(k kind) string {
	tag := "COMMIT"
	if k == rollback || t.state == 'E' {
		t.takeBack(0)
		tag = "ROLLBACK"
	}
	t.keep()
	t.state = 'I'
	return tag
}

// savepoint does SAVEPOINT, RELEASE and ROLLBACK TO; it returns the code of
// what is wrong with it.
func (t *transaction) savepoint(k kind, name string) string {
	if t.state == 'I' {
		return "25P01"
	}
	if k == savepoint {
		t.savepoints = append(t.savepoints, mark{name, len(t.written)})
		return ""
	}
	for i := len(t.savepoints) - 1; i >= 0; i-- {
		if t.savepoints[i].name != name {
			continue
		}
		if k == release {
			t.savepoints = t.savepoints[:i]
			return ""
		}
		t.takeBack(t.savepoints[i].at)
		t.savepoints = t.savepoints[:i+1]
		t.state = 'T'
		return ""
	}
	return "3B001"
}
