package main

import "fmt"

func printCapture(got map[load]map[string]*figures) {
	one := loads[0]
	t := newTable("C1 added latency, µs", "direct", "+haproxy", "+pgbouncer", "+retrace", "retrace/haproxy", "budget")
	base := got[one][direct].latency
	added := func(path string) series { return got[one][path].latency.minus(base) }
	ratio := added(retrace).over(added(haproxy))
	t.row(one, f1(base), f1(added(haproxy)), f1(added(pgbouncer)), f1(added(retrace)), ratio.spread(), verdict(ratio.median(), 1, true))
	t.print()

	t = newTable("C2 throughput kept", "direct tps", "haproxy", "pgbouncer", "retrace", "retrace/haproxy", "retrace/pgbouncer", "budget")
	for _, l := range loads[1:] {
		base := got[l][direct].tps
		kept := func(path string) string { return f2(got[l][path].tps.over(base)) }
		to := func(path string) series { return got[l][retrace].tps.over(got[l][path].tps) }
		worst := min(to(haproxy).median(), to(pgbouncer).median())
		t.row(l, f0(base), kept(haproxy), kept(pgbouncer), kept(retrace), to(haproxy).spread(), to(pgbouncer).spread(), verdict(worst, 1, false))
	}
	t.print()

	t = newTable("C3 proxy CPU per transaction, µs", "haproxy", "pgbouncer", "retrace", "retrace/haproxy", "budget")
	for _, l := range loads {
		cpu := func(path string) series { return got[l][path].cpu }
		ratio := cpu(retrace).over(cpu(haproxy))
		t.row(l, f1(cpu(haproxy)), f1(cpu(pgbouncer)), f1(cpu(retrace)), ratio.spread(), verdict(ratio.median(), 1, true))
	}
	t.print()

	t = newTable("C4 C5 T1 T2 recorder", "peak RSS MiB", "budget", "events lost", "budget", "bytes/statement", "budget")
	for _, l := range loads {
		f := got[l][retrace]
		rss := f.rss.median() / (1 << 20)
		t.row(l, fmt.Sprintf("%.0f", rss), verdict(rss, 64, true), fmt.Sprint(f.lost), verdict(float64(f.lost), 0, true),
			f.size.spread(), verdict(f.size.median(), 6.5, true))
	}
	t.print()
}

func f0(s series) string { return fmt.Sprintf("%.0f", s.median()) }
func f1(s series) string { return fmt.Sprintf("%.1f", s.median()) }
func f2(s series) string { return fmt.Sprintf("%.2f", s.median()) }
