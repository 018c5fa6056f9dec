//go:build !unix

package capture

func connsAllowed() int { return 10_000 }
