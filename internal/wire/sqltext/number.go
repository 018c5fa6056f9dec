package sqltext

// number returns where the numeric literal at i ends: 1, 1.5, .5, 1e-5, 0x1f,
// 0o17, 0b1, 1_000. src[i] is a digit, or a dot before one.
func number(src []byte, i int) int {
	if src[i] == '0' && i+2 < len(src) && isHex(src[i+2]) {
		switch src[i+1] | 0x20 {
		case 'x', 'o', 'b':
			i += 3
			for i < len(src) && (isHex(src[i]) || src[i] == '_') {
				i++
			}
			return i
		}
	}
	i = digits(src, i)
	if i < len(src) && src[i] == '.' && (i+1 == len(src) || src[i+1] != '.') {
		i = digits(src, i+1)
	}
	return exponent(src, i)
}

func digits(src []byte, i int) int {
	for i < len(src) {
		c := src[i]
		if class[c] != digit && (c != '_' || i+1 == len(src) || class[src[i+1]] != digit) {
			break
		}
		i++
	}
	return i
}

func exponent(src []byte, i int) int {
	if i == len(src) || src[i]|0x20 != 'e' {
		return i
	}
	j := i + 1
	if j < len(src) && (src[j] == '+' || src[j] == '-') {
		j++
	}
	if j == len(src) || class[src[j]] != digit {
		return i
	}
	return digits(src, j)
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f'
}
