package target

// RequiresTLS tells whether the TLS mode rules out a connection without it.
func (t *Target) RequiresTLS() bool { return !offersPlain(t.config) }
