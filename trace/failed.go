package trace

// Failed is why nothing can be written until Restart, or nil. It tells a full
// disk from an event that was refused.
func (w *Writer) Failed() error { return w.failed }
