package sqltext

// verb judges a statement by its first word. A word that is none of those
// known leaves it suspect.
func (g *guard) verb(w []byte) {
	var buf [16]byte
	l, _ := lower(&buf, w)
	switch string(l) {
	case "select", "insert", "update", "delete", "merge", "with", "values", "table", "fetch", "move",
		"explain", "analyze", "vacuum", "begin", "commit", "end", "rollback", "abort", "savepoint",
		"release", "start", "declare", "close", "lock", "truncate", "listen", "notify", "unlisten",
		"deallocate", "discard", "show", "reset", "checkpoint", "cluster", "reindex", "refresh",
		"comment", "grant", "revoke", "drop", "prepare", "execute", "call":
		g.state = data
	case "create", "alter":
		g.state = atObject
	case "do":
		g.state = data
		g.raise(InCode)
	case "set":
		g.state = setting
	case "copy":
		g.state = program
	default:
		g.state = unknown
		g.inside(w)
	}
}

// object judges CREATE and ALTER by the second word.
func (g *guard) object(w []byte) {
	var buf [16]byte
	l, _ := lower(&buf, w)
	switch string(l) {
	case "user", "role", "group", "server", "subscription", "system":
		g.state = unknown
		g.raise(Secret)
	case "or", "replace": // the object is still to come
	case "function", "procedure", "routine":
		g.state = data
		g.raise(InCode)
	case "database":
		g.state = setting
	case "table", "temp", "temporary", "unlogged", "global", "local", "index", "unique", "view",
		"materialized", "recursive", "type", "domain", "trigger", "event", "constraint", "sequence",
		"schema", "extension", "aggregate", "operator", "cast", "collation", "conversion", "default",
		"trusted", "procedural", "language", "policy", "publication", "rule", "statistics",
		"tablespace", "text", "access", "transform", "large":
		g.state = data
	default:
		g.state = unknown
		g.inside(w)
	}
}

// option lists the words that may follow PASSWORD in a statement without being
// the password.
func option(l []byte) bool {
	switch string(l) {
	case "to", "null", "by", "with", "valid", "until", "encrypted", "unencrypted", "login", "nologin",
		"superuser", "nosuperuser", "createdb", "nocreatedb", "createrole", "nocreaterole",
		"inherit", "noinherit", "replication", "noreplication", "bypassrls", "nobypassrls",
		"limit", "in", "role", "group", "admin", "user", "options", "set", "add", "drop",
		"publication", "for", "server", "foreign", "data", "wrapper":
		return true
	}
	return false
}

// secretCode looks for the statements of verb and object in the body of a
// function, whatever stands around them.
func secretCode(body []byte) bool {
	defines := false
	for i := 0; i < len(body); {
		if class[body[i]] != letter {
			i++
			continue
		}
		from := i
		for i < len(body) && inWord[body[i]] {
			i++
		}
		var buf [16]byte
		l, _ := lower(&buf, body[from:i])
		switch string(l) {
		case "user", "role", "group", "server", "subscription", "system":
			if defines {
				return true
			}
		case "dblink_connect", "dblink_connect_u":
			return true
		case "password":
			if passwordFollows(body[i:]) {
				return true
			}
		}
		defines = string(l) == "create" || string(l) == "alter"
	}
	return false
}

func passwordFollows(b []byte) bool {
	for len(b) > 0 && class[b[0]] == space {
		b = b[1:]
	}
	return len(b) > 0 && (b[0] == '\'' || b[0] == '$' || b[0] == '%')
}
