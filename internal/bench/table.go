package main

import (
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// figuresTable is one table of rows with a name in front.
type figuresTable struct{ table.Writer }

func newTable(title string, columns ...string) figuresTable {
	w := table.NewWriter()
	w.SetOutputMirror(os.Stdout)
	w.SetStyle(table.StyleLight)
	w.Style().Options.DrawBorder = false
	w.Style().Options.SeparateColumns = false
	w.Style().Format.Header = text.FormatDefault
	header := table.Row{title}
	for _, c := range columns {
		header = append(header, c)
	}
	w.AppendHeader(header)
	return figuresTable{w}
}

func (t figuresTable) row(name fmt.Stringer, cells ...string) { t.named(name.String(), cells...) }

func (t figuresTable) named(name string, cells ...string) {
	row := table.Row{name}
	for _, c := range cells {
		row = append(row, c)
	}
	t.AppendRow(row)
}

func (t figuresTable) print() {
	t.Render()
	fmt.Println()
}
