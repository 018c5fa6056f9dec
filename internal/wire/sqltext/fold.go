package sqltext

// Fold appends src with its literals folded: numbers become 0, strings ”,
// comments and white space around them one blank.
func Fold(dst, src []byte) []byte {
	var l Literals
	l.Reset(src)
	done := 0
	for {
		t, ok := l.Next()
		if !ok {
			return append(dst, src[done:]...)
		}
		dst = append(dst, src[done:t.Start]...)
		done = t.End
		switch t.Kind {
		case Number: // keep it apart from the words around it: select-1, 1and
			if n := len(dst); n > 0 && inWord[dst[n-1]] {
				dst = append(dst, ' ')
			}
			dst = append(dst, '0')
			if done < len(src) && inWord[src[done]] {
				dst = append(dst, ' ')
			}
		case Comment:
			if n := len(dst); n > 0 && class[dst[n-1]] != space {
				dst = append(dst, ' ')
			}
			for done < len(src) && class[src[done]] == space {
				done++
			}
		default:
			dst = append(dst, "''"...)
		}
	}
}
