package pg

// parseError reads an ErrorResponse: its SQLSTATE, and whether it ends the
// session.
func parseError(body []byte) (code string, fatal bool) {
	code = "XX000"
	local := true // the severity known so far is the translated one
	for len(body) > 0 && body[0] != 0 {
		field := body[0]
		value, rest, _ := cstring(body[1:])
		switch field {
		case 'C':
			if len(value) > 0 && len(value) <= 16 {
				code = string(value)
			}
		case 'S':
			if local {
				fatal = isFatal(value)
			}
		case 'V':
			fatal, local = isFatal(value), false
		}
		body = rest
	}
	return code, fatal
}

func isFatal(severity []byte) bool {
	return string(severity) == "FATAL" || string(severity) == "PANIC"
}
