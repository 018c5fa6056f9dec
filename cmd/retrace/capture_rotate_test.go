package main

import (
	"testing"
	"time"
)

func TestRotateFlag(t *testing.T) {
	for text, want := range map[string]rotateFlag{
		"1GiB": {1 << 30, 0}, "1h": {0, time.Hour}, "1GiB,1h": {1 << 30, time.Hour}, "90m,10MB": {10e6, 90 * time.Minute},
	} {
		var f rotateFlag
		if err := f.UnmarshalText([]byte(text)); err != nil || f != want {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
	}
	for _, text := range []string{"", "1", "0GiB", "-1h", "1GiB,2GiB", "1h,2h", "1GiB,", "9999999999999TiB", "1.5GiB", "1gib"} {
		var f rotateFlag
		if f.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q was taken: %+v", text, f)
		}
	}
}
