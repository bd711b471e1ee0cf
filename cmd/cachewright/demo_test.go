package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A watched is an output that says when a text has come.
type watched struct {
	mu   sync.Mutex // guards all below
	text bytes.Buffer
	wait string
	seen chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if w.wait != "" && strings.Contains(w.text.String(), w.wait) {
		w.wait = ""
		close(w.seen)
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// demoScrape runs the demonstration and scrapes it when all is done.
func demoScrape(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out := &watched{wait: "until you interrupt this.\n", seen: make(chan struct{})}
	var errs watched
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"demo", "--dir", ".", "--metrics", "--keep"}, strings.NewReader(""), out, &errs)
	}()
	select {
	case <-out.seen:
	case code := <-ended:
		t.Fatalf("exit %d\n%s%s", code, out, &errs)
	case <-time.After(time.Minute):
		t.Fatalf("it does not come to its end\n%s%s", out, &errs)
	}
	families := scrape(t, regexp.MustCompile(`http://\S+`).FindString(out.String()))
	interrupt()
	if code := <-ended; code != exitYes {
		t.Errorf("exit %d after the interruption\n%s", code, &errs)
	}
	return families
}

func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	delete(families, "target_info")
	return families
}

func TestTheDashboardAndTheDocumentationMatchWhatIsMeasured(t *testing.T) {
	t.Parallel()
	families := demoScrape(t)
	series := map[string][]string{} // labels by the name that queries use
	for name, f := range families {
		var labels []string
		for _, m := range f.Metric {
			for _, l := range m.Label {
				labels = append(labels, l.GetName())
			}
		}
		if f.GetType() == dto.MetricType_HISTOGRAM {
			series[name+"_bucket"] = append(labels, "le")
			series[name+"_count"], series[name+"_sum"] = labels, labels
			continue
		}
		series[name] = labels
	}
	asked := map[string]bool{}
	for _, query := range queries(t, "../../dashboards/cachewright.json") {
		names := regexp.MustCompile(`cachewright_\w+`).FindAllString(query, -1)
		if len(names) == 0 {
			t.Errorf("a query asks for nothing of ours: %s", query)
		}
		for _, name := range names {
			if _, ok := series[name]; !ok {
				t.Errorf("the dashboard asks for %s, which is not measured: %s", name, query)
			}
			asked[regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")] = true
			for _, label := range labelsOf(query) {
				if label != "error_type" && !slices.Contains(series[name], label) { // no call of the demonstration need fail
					t.Errorf("the dashboard asks %s for the label %s: %s", name, label, query)
				}
			}
		}
	}
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range families {
		if !asked[name] {
			t.Errorf("the dashboard does not show %s", name)
		}
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("docs/telemetry.md does not list %s", name)
		}
	}
	for _, m := range families["cachewright_driver_restarts_total"].GetMetric() {
		if want := map[string]float64{"file": 1}[m.Label[0].GetValue()]; m.Counter.GetValue() != want {
			t.Errorf("restarts of %s: %v, want %v", m.Label[0].GetValue(), m.Counter.GetValue(), want)
		}
	}
}

// queries are all expressions of a dashboard, those of its variables too.
func queries(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels     []struct{ Targets []struct{ Expr string } }
		Templating struct {
			List []struct{ Type, Definition string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			found = append(found, target.Expr)
		}
	}
	for _, v := range dashboard.Templating.List {
		if v.Type == "query" {
			found = append(found, v.Definition)
		}
	}
	if len(found) < 10 {
		t.Fatalf("only %d queries in %s", len(found), path)
	}
	return found
}

// labelsOf are the labels that a query selects, groups or lists by.
func labelsOf(query string) []string {
	var labels []string
	for _, m := range regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`).FindAllStringSubmatch(query, -1) {
		labels = append(labels, m[1])
	}
	for _, m := range regexp.MustCompile(`by \(([\w, ]+)\)|label_values\(\w+, (\w+)\)`).FindAllStringSubmatch(query, -1) {
		labels = append(labels, strings.Split(m[1]+m[2], ", ")...)
	}
	return labels
}

func TestTheDemonstrationServesMetricsToThisMachineOnly(t *testing.T) {
	s := shell{t, t.TempDir()}
	for args, want := range map[string]string{
		"demo --metrics=0.0.0.0:0":     "only this machine's own",
		"demo --metrics=example.org:1": "only this machine's own",
		"demo --metrics=9464":          "HOST:PORT",
		"demo --keep":                  "--keep goes with --metrics",
	} {
		if code, _, stderr := s.run("", strings.Fields(args)...); code == exitYes || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
}
