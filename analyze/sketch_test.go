package analyze

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever order statements come in, and however often room had to be made, the
// ones with the smallest keys are kept, as many of each fingerprint.
func TestSketchKeepsTheSmallestKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		k := &keeping{each: 64, all: 100}
		sketches := make([]*sketch, 5)
		want := make([][]sample, len(sketches))
		for i := range sketches {
			sketches[i] = &sketch{}
		}
		for range rapid.IntRange(0, 2000).Draw(t, "statements") {
			which := min(r.IntN(len(sketches)), r.IntN(len(sketches)))
			v := sample{key: r.Uint64(), at: r.Int32(), took: r.Float32()}
			want[which] = append(want[which], v)
			if sketches[which].add(k, v) {
				k.halve(sketches)
			}
		}
		held := 0
		for i, s := range sketches {
			s.finish(k.each)
			slices.SortFunc(want[i], func(a, b sample) int { return cmp.Compare(a.key, b.key) })
			want[i] = want[i][:min(len(want[i]), k.each)]
			if len(want[i]) != len(s.samples) || len(want[i]) > 0 && !reflect.DeepEqual(want[i], s.samples) {
				t.Fatalf("sketch %d keeps %d samples, not the %d smallest keys of %d", i, len(s.samples), len(want[i]), s.seen)
			}
			held += len(s.samples)
		}
		if held > k.all {
			t.Errorf("%d are held, %d may be", held, k.all)
		}
	})
}

// Two runs keep the same statements though they saw them in other orders, and
// one of them only a part.
func TestSketchesMeet(t *testing.T) {
	var a, b sketch
	ka, kb := &keeping{each: 1000, all: 1 << 20}, &keeping{each: 500, all: 1 << 20}
	for i := range uint64(20_000) {
		a.add(ka, sample{key: mix(i)})
		if j := 19_999 - i; j%4 != 0 {
			b.add(kb, sample{key: mix(j)})
		}
	}
	a.finish(1000)
	b.finish(500)
	pairs := 0
	together(&a, &b, func(x, y *sample) {
		pairs++
		if x.key != y.key {
			t.Fatal("not a pair")
		}
	})
	if pairs != 500 { // all of b's: its five hundredth of three quarters stands below a's thousandth
		t.Errorf("%d pairs", pairs)
	}
}
