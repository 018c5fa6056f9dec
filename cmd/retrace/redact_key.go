package main

import (
	"fmt"
	"os"

	"github.com/retrace-db/retrace/internal/wire/pseudonym"
)

// redactKeyVar is where a key may come from: never from the command line, which
// others can see.
const redactKeyVar = "RETRACE_REDACT_KEY"

// minKey is how many bytes keep others from trying all keys.
const minKey = 16

// redactKey is the key of pseudonyms: from a file, else from the environment,
// else one that nobody ever knows.
func redactKey(env Env, file string) (*pseudonym.Key, error) {
	secret, from := []byte(env.Getenv(redactKeyVar)), redactKeyVar
	if file != "" {
		var err error
		if secret, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("read the key: %w", err)
		}
		from = file
	}
	switch {
	case len(secret) == 0 && file == "":
		return pseudonym.NewRandom(), nil
	case len(secret) < minKey:
		return nil, fmt.Errorf("the key in %s has %d bytes: it needs %d at least, such as those of head -c 32 /dev/urandom", from, len(secret), minKey)
	}
	return pseudonym.New(secret), nil
}
