//go:build !unix

package replay

import "errors"

func openFiles() (int, error) { return 0, errors.ErrUnsupported }
