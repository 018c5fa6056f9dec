package filter

import (
	"slices"

	"github.com/retrace-db/retrace/internal/fingerprint"
)

// Structural tells whether other statements rest on what a text does to its
// session or transaction: who leaves statements out keeps these.
func Structural(sql string) bool {
	verbs := fingerprint.Verbs(sql)
	return len(verbs) > 0 && !slices.ContainsFunc(verbs, func(verb string) bool { return !structuralVerbs[verb] })
}

var structuralVerbs = map[string]bool{
	"begin": true, "start": true, "commit": true, "end": true, "rollback": true, "abort": true, "savepoint": true,
	"release": true, "set": true, "reset": true, "discard": true, "prepare": true, "deallocate": true, "listen": true, "unlisten": true,
}
