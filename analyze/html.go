package analyze

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// HTML writes the report as one page that needs nothing but itself: a headline
// for who reads no further, pictures, and a table to look into. Its parts are in
// the folder html; what they are filled with is in html_page.go (what is there
// without a script) and html_data.go (what the script draws).
type HTML struct {
	Escape func(string) string // makes foreign text safe to show
	Files  map[string]string   // of a run by its label: what to give to retrace trace cat
}

var (
	//go:embed html/page.gohtml
	pageText string
	//go:embed html/style.css
	styleText string
	//go:embed html/page.js
	scriptText string

	pageTemplate = template.Must(template.New("page").Parse(pageText))
)

// policy allows the page its own style and script, and nothing else: no
// request to anywhere, and no script that a text in it might smuggle in.
var policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", hashOf(styleText), hashOf(scriptText))

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Write writes the page.
func (h HTML) Write(w io.Writer, r *Report) error {
	data, left, err := h.data(r)
	if err != nil {
		return fmt.Errorf("data of the page: %w", err)
	}
	v := h.view(r)
	v.Style, v.Script, v.Data, v.Policy = template.CSS(styleText), template.JS(scriptText), template.JS(data), policy
	if left > 0 {
		v.LeftOut = fmt.Sprintf("%s, which come last in the order of this table, are left out to keep the file small: analyze -o json has them.", plural(uint64(left), "statement"))
	}
	var b bytes.Buffer // so that nothing half is written
	if err := pageTemplate.Execute(&b, v); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// words gives the sentences of the text report.
func (h HTML) words(r *Report) *page {
	p := &page{Text: Text{Top: defaultTop, Width: 1 << 20, Escape: h.Escape}, r: r}
	for i := range r.Runs {
		p.labels = append(p.labels, cut(h.Escape(r.Runs[i].Label), maxLabel))
	}
	return p
}

// maxLabel is how many bytes of a label are shown.
const maxLabel = 60

// taken is what a page has written since it was last asked.
func (p *page) taken() []string {
	text := strings.TrimSpace(p.b.String())
	p.b.Reset()
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}
