//go:build !linux

package capture

// startPumps starts the pumps in order of preference.
func (p *Proxy) startPumps() ([]pump, error) { return []pump{newRelays(&p.options)}, nil }
