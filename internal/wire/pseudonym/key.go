// Package pseudonym replaces values by others of the same kind and length: the
// same value by the same one, different values by different ones as far as their
// length allows. What a pseudonym stands for only the key tells.
package pseudonym

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"
	random "math/rand/v2"
)

// Key decides which pseudonyms there are. It is for one goroutine at a time.
type Key struct {
	block cipher.Block
	mac   hash.Hash
	sum   [sha256.Size]byte
	in    [aes.BlockSize]byte
	out   [aes.BlockSize]byte
}

// New makes a key of a secret.
func New(secret []byte) *Key {
	derive := func(purpose string) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte("retrace pseudonyms: " + purpose))
		return mac.Sum(nil)
	}
	block, err := aes.NewCipher(derive("small values"))
	if err != nil {
		panic("a key of 32 bytes is one of AES")
	}
	return &Key{block: block, mac: hmac.New(sha256.New, derive("texts"))}
}

// NewRandom makes a key that nobody knows.
func NewRandom() *Key {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	return New(secret[:])
}

// permute is a permutation of 0 … n-1, another for each tweak: a Feistel network
// over the next power of four, walked until it is back inside.
func (k *Key) permute(x, n uint64, tweak uint32) uint64 {
	if n < 2 {
		return x
	}
	half := (max(bits.Len64(n-1), 2) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		l, r := x>>half, x&mask
		for round := range byte(10) {
			l, r = r, l^k.round(r, tweak, round)&mask
		}
		if x = l<<half | r; x < n {
			return x
		}
	}
}

func (k *Key) round(v uint64, tweak uint32, round byte) uint64 {
	binary.LittleEndian.PutUint64(k.in[:], v)
	binary.LittleEndian.PutUint32(k.in[8:], tweak)
	k.in[12] = round
	k.block.Encrypt(k.out[:], k.in[:])
	return binary.LittleEndian.Uint64(k.out[:])
}

// stream is random to whoever has no key, and follows from the value.
func (k *Key) stream(v []byte) *random.Rand {
	k.mac.Reset()
	k.mac.Write(v)
	k.mac.Sum(k.sum[:0])
	return random.New(random.NewChaCha8(k.sum))
}

// Bytes is for what has no form.
func (k *Key) Bytes(dst, v []byte) []byte {
	s := k.stream(v)
	for range v {
		dst = append(dst, byte(s.Uint32()))
	}
	return dst
}

const (
	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	decimal  = "0123456789"
	hexa     = "0123456789abcdef"
)

// letters replaces each byte by one of the alphabet.
func (k *Key) letters(dst, v []byte, of string) []byte {
	if len(v) == 0 {
		return dst
	}
	s := k.stream(v)
	for range v {
		dst = append(dst, of[s.IntN(len(of))])
	}
	return dst
}

// ID tells keys apart without telling the key.
func (k *Key) ID() []byte {
	k.mac.Reset()
	k.mac.Write([]byte("\x00which key"))
	return k.mac.Sum(nil)[:16]
}
