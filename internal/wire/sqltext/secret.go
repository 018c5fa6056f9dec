package sqltext

import "bytes"

// Secrecy says whether a text may hold a password, token or key.
type Secrecy byte

// A text is as secret as its statements together.
const (
	InCode    Secrecy = 1 << iota // if a function's body says so
	InSetting                     // if the name of a setting or a connection string says so
	Secret
)

// what a statement is, judged by its first two words
const (
	atVerb   byte = iota
	atObject      // after CREATE or ALTER
	data          // PASSWORD is a column there
	unknown       // misspelt perhaps: PASSWORD makes it secret
	setting       // SET: its name may tell
	program       // COPY: PROGRAM makes it secret
)

// guard follows a text's statements. It looks at words only, and at few.
type guard struct {
	found  Secrecy
	state  byte
	secret bool // the statement at hand is
	crypt  bool // the word before is a function that takes a key or a password
	after  bool // what follows may be the secret itself, even if it is no literal
}

func (g *guard) end() { g.state, g.secret, g.after, g.crypt = atVerb, false, false, false }

func (g *guard) raise(s Secrecy) {
	g.found |= s
	g.secret = g.secret || s == Secret
}

// equals: in SET the value follows.
func (g *guard) equals() {
	if g.state == setting && g.secret {
		g.after = true
	}
}

// word takes the next word and reports whether it must be hidden.
func (g *guard) word(w []byte) bool {
	switch g.state {
	case data:
		g.function(w)
		return false
	case atVerb:
		g.verb(w)
		return false
	case atObject:
		g.object(w)
		return false
	}
	return g.inside(w)
}

// function looks for the functions that take a connection string or a setting.
func (g *guard) function(w []byte) {
	switch {
	case len(w) >= 6 && w[0]|0x20 == 'd' && hasPrefix(w, "dblink"):
		if hasPrefix(w[6:], "_connect") {
			g.raise(Secret)
		} else {
			g.raise(InSetting)
		}
	case len(w) == 10 && w[0]|0x20 == 's' && hasPrefix(w, "set_config"):
		g.raise(InSetting)
	default:
		g.crypt = len(w) >= 4 && crypts(w)
	}
}

// crypts knows the functions of pgcrypto that take a key or a password.
func crypts(w []byte) bool {
	switch w[0] | 0x20 {
	case 'p', 'c', 'e', 'd', 'h':
	default:
		return false
	}
	var buf [16]byte
	l, _ := lower(&buf, w)
	switch string(l) {
	case "crypt", "hmac", "encrypt", "decrypt", "encrypt_iv", "decrypt_iv":
		return true
	}
	return hasPrefix(w, "pgp_sym_") || hasPrefix(w, "pgp_pub_decrypt")
}

// opens: a bracket follows, so that the word before is called.
func (g *guard) opens() {
	if g.crypt {
		g.raise(Secret)
	}
}

// quoted takes a name in quotes, which may be that of a function or a setting.
func (g *guard) quoted(w []byte) {
	switch {
	case len(w) <= 2:
	case g.state == data:
		g.function(w[1 : len(w)-1])
	case g.state == setting && Suspicious(w):
		g.raise(Secret)
	}
}

// inside looks at the words of statements that are, or may be, secret.
func (g *guard) inside(w []byte) bool {
	if g.state == setting {
		return g.set(w)
	}
	if g.state == program {
		if len(w) == 7 && hasPrefix(w, "program") {
			g.raise(Secret)
		}
		return false
	}
	var buf [16]byte
	l, _ := lower(&buf, w)
	switch string(l) {
	case "password", "passwd", "identified":
		g.raise(Secret)
		g.after = true
		return false
	case "connection":
		g.after = g.after || g.secret
		return false
	}
	return g.after && !option(l)
}

// set looks at the words of a SET: the name before the = or TO, then the value.
func (g *guard) set(w []byte) bool {
	switch {
	case g.after:
		return true
	case len(w) == 2 && hasPrefix(w, "to"):
		g.after = g.secret
	case Suspicious(w):
		g.raise(Secret)
	}
	return false
}

// Reveals reports whether a literal of a text of this secrecy makes it secret.
func (s Secrecy) Reveals(literal []byte) bool {
	if s&InCode != 0 && secretCode(literal) {
		return true
	}
	return s&InSetting != 0 && (Suspicious(literal) || bytes.Contains(literal, []byte("://")))
}

// Suspicious looks for words that announce a secret.
func Suspicious(b []byte) bool {
	for i, c := range b {
		switch c | 0x20 {
		case 'p':
			if hasPrefix(b[i:], "passw") || hasPrefix(b[i:], "passphrase") {
				return true
			}
		case 's':
			if hasPrefix(b[i:], "secret") {
				return true
			}
		case 't':
			if hasPrefix(b[i:], "token") {
				return true
			}
		case 'c':
			if hasPrefix(b[i:], "credential") {
				return true
			}
		case 'a':
			if hasPrefix(b[i:], "apikey") || hasPrefix(b[i:], "api_key") {
				return true
			}
		}
	}
	return false
}

// hasPrefix ignores case; p is lower case letters and underscores.
func hasPrefix(w []byte, p string) bool {
	if len(w) < len(p) {
		return false
	}
	for i := 0; i < len(p); i++ {
		b := w[i]
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		if b != p[i] {
			return false
		}
	}
	return true
}
