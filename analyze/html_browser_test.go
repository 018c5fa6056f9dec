package analyze

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/retrace-db/retrace/internal/dbtest"
)

// browser opens a page in Chromium and keeps what it asks for and complains of.
type browser struct {
	ctx context.Context

	mu       sync.Mutex
	requests []string
	said     []string
}

func openPage(t *testing.T, page []byte) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		dbtest.Missing(t, "no chromium here: make setup installs it")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.UserDataDir(profile(t)), chromedp.WindowSize(1400, 1000), chromedp.WSURLReadTimeout(time.Minute),
	}
	limited, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	allocated, cancelAllocated := chromedp.NewExecAllocator(limited, options...)
	b := &browser{}
	var cancelPage context.CancelFunc
	b.ctx, cancelPage = chromedp.NewContext(allocated)
	t.Cleanup(func() {
		_ = chromedp.Cancel(b.ctx) // waits for the browser to end
		cancelPage()
		cancelAllocated()
		cancel()
	})
	if err := chromedp.Listen(b.ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Navigate("file://"+file), chromedp.WaitReady(chromedp.CSS("#table tbody")))
	return b
}

// profile is a folder that may go a little later: the browser's children write
// to it when the browser has ended already.
func profile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "retrace-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 50 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return dir
}

func (b *browser) heard(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *log.EventEntryAdded:
		b.said = append(b.said, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, "console."+string(e.Type))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, e.ExceptionDetails.Text)
	}
}

func (b *browser) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// ask evaluates an expression in the page.
func ask[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// quiet: nothing was asked for but the file, and nothing was complained of.
func (b *browser) quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) != 1 || !strings.HasPrefix(b.requests[0], "file://") {
		t.Errorf("requests: %q", b.requests)
	}
	if len(b.said) > 0 {
		t.Errorf("the console: %q", b.said)
	}
}

const shownIDs = `[...document.querySelectorAll("#table tbody tr[id]")].map((r) => r.id.slice(3))`

func TestHTMLInBrowser(t *testing.T) {
	r := reports()["two"]
	b := openPage(t, htmlOf(t, r))
	if got := ask[[]string](t, b, shownIDs); len(got) != len(r.Fingerprints) || got[0] != r.Fingerprints[0].ID {
		t.Fatalf("the table shows %v", got)
	}
	if n := ask[int](t, b, `document.querySelectorAll("#charts svg path.line, #charts svg path.dots").length`); n < 8 {
		t.Errorf("%d lines are drawn", n)
	}
	sortsAndFilters(t, b, r)
	opensFingerprint(t, b, r)
	usesKeyboard(t, b)
	b.quiet(t)
}

func sortsAndFilters(t *testing.T, b *browser, r *Report) {
	const header = `//th/button[text()="p99"]`
	b.do(t, chromedp.Click(chromedp.Search(header)))
	most, least := r.Fingerprints[0], r.Fingerprints[0]
	for _, f := range r.Fingerprints {
		if f.Runs[1].Service.P99 > most.Runs[1].Service.P99 {
			most = f
		}
		if f.Runs[1].Service.P99 < least.Runs[1].Service.P99 {
			least = f
		}
	}
	if got := ask[[]string](t, b, shownIDs); got[0] != most.ID {
		t.Errorf("sorted by p99 the first is %s, not %s", got[0], most.ID)
	}
	b.do(t, chromedp.Click(chromedp.Search(header)))
	if got := ask[[]string](t, b, shownIDs); got[0] != least.ID {
		t.Errorf("sorted the other way the first is %s, not %s", got[0], least.ID)
	}
	if got := ask[string](t, b, `document.querySelector("th[aria-sort]").getAttribute("aria-sort")`); got != "ascending" {
		t.Errorf("aria-sort is %s", got)
	}
	b.do(t, chromedp.SendKeys(chromedp.CSS("#filter"), "audit INSERT"))
	if got := ask[[]string](t, b, shownIDs); len(got) != 1 {
		t.Errorf("the filter leaves %v", got)
	}
	if got := ask[string](t, b, `document.getElementById("count").textContent`); got != "1 of 5 statements" {
		t.Errorf("the count is %q", got)
	}
}

// opensFingerprint follows a link of the headline while a filter hides its row.
func opensFingerprint(t *testing.T, b *browser, r *Report) {
	b.do(t, chromedp.Click(chromedp.CSS(".causes a")), chromedp.WaitVisible(chromedp.CSS("tr.detail")))
	var want Fingerprint
	for _, f := range r.Fingerprints {
		if v := f.Runs[1].Change.Verdict; v == Degraded || v == Improved || v == Errored {
			want = f
			break
		}
	}
	said := ask[string](t, b, `document.querySelector("tr.detail").textContent`)
	e := want.Runs[1].Worst[0]
	for _, part := range []string{want.ID, quoted4(want.SQL), "23505 × ", "retrace trace cat 'my runs/aurora.run' --where 'session:", fmt.Sprintf("ordinal:%d", e.Ordinal)} {
		if !strings.Contains(said, part) {
			t.Errorf("the details lack %q: %s", part, said)
		}
	}
	if n := ask[int](t, b, `document.querySelectorAll("tr.detail svg path.line").length`); n != 2 {
		t.Errorf("%d curves in the details", n)
	}
}

func usesKeyboard(t *testing.T, b *browser) {
	b.do(t, chromedp.KeyEvent("/"))
	if got := ask[string](t, b, `document.activeElement.id`); got != "filter" {
		t.Errorf("/ leads to %q", got)
	}
	// typed by the protocol the / is a character as well, which no keyboard's is
	ask[bool](t, b, `(document.getElementById("filter").value = "", document.getElementById("filter").dispatchEvent(new Event("input")))`)
	ask[bool](t, b, `document.querySelector("#table tbody button[aria-expanded=false]").focus() || true`)
	before := ask[int](t, b, `document.querySelectorAll("tr.detail").length`)
	b.do(t, chromedp.KeyEvent("\r"))
	if n := ask[int](t, b, `document.querySelectorAll("tr.detail").length`); n != before+1 {
		t.Errorf("after Enter on a statement %d are open, before %d", n, before)
	}
}

// RE-01: hostile text does nothing, and is shown as it is.
func TestRE01HostileTextInBrowser(t *testing.T) {
	var page strings.Builder
	as := func(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "0"), "?") }
	if err := (HTML{Escape: as, Files: map[string]string{"b": hostile}}).Write(&page, hostileReport(hostile)); err != nil {
		t.Fatal(err)
	}
	b := openPage(t, []byte(page.String()))
	ask[bool](t, b, `document.querySelectorAll("#table .sqlcell button").forEach((x) => x.click()) || true`)
	if n := ask[int](t, b, `document.querySelectorAll("img, textarea, iframe, object, [onerror], a[href^=javascript]").length`); n != 0 {
		t.Errorf("%d elements came out of the text", n)
	}
	if n := ask[int](t, b, `document.scripts.length`); n != 2 {
		t.Errorf("%d scripts", n)
	}
	if got := ask[string](t, b, `document.title`); strings.HasPrefix(got, "owned") {
		t.Error("the text ran")
	}
	if !ask[bool](t, b, `document.querySelector("tr.detail").parentNode.textContent.includes("<img src=x onerror=")`) {
		t.Error("the text is not shown as it is")
	}
	b.quiet(t)
}

// With ten thousand fingerprints the page is there, and filters.
func TestHTMLOfTenThousandInBrowser(t *testing.T) {
	b := openPage(t, htmlOf(t, manyFingerprints(10_000, 16)))
	if got := ask[string](t, b, `document.getElementById("count").textContent`); !strings.HasSuffix(got, " statements") {
		t.Errorf("the count is %q", got)
	}
	b.do(t, chromedp.SendKeys(chromedp.CSS("#filter"), "a_4711,"))
	if got := ask[[]string](t, b, shownIDs); len(got) != 1 {
		t.Errorf("the filter leaves %v", got)
	}
	b.quiet(t)
}
