package report

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// A Machine is where something was measured, as far as ratios depend on it.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Virtual bool   `json:"virtual"`
	Memory  string `json:"memory"` // in GiB, rounded
	Kernel  string `json:"kernel"`
	Go      string `json:"go"`
}

// ThisMachine describes the machine that the program runs on.
func ThisMachine() Machine {
	m := Machine{
		CPU: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Kernel: runtime.GOOS, Go: runtime.Version(), Memory: "unknown",
	}
	for key, value := range fields("/proc/cpuinfo") {
		switch key {
		case "model name":
			m.CPU = value
		case "flags":
			m.Virtual = strings.Contains(" "+value+" ", " hypervisor ")
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = "Linux " + strings.TrimSpace(string(release))
	}
	var kilobytes int
	if _, err := fmt.Sscan(fields("/proc/meminfo")["MemTotal"], &kilobytes); err == nil {
		m.Memory = fmt.Sprintf("%.0f GiB", float64(kilobytes)/(1<<20))
	}
	return m
}

// String describes it in a sentence.
func (m Machine) String() string {
	kind := "cores"
	if m.Virtual {
		kind = "virtual cores"
	}
	return fmt.Sprintf("%s, %d %s, %s of memory, %s, %s", m.CPU, m.Cores, kind, m.Memory, m.Kernel, m.Go)
}

// fields reads a file of lines "name : value"; of lines with the same name the
// last one counts.
func fields(path string) map[string]string {
	found := make(map[string]string)
	file, err := os.Open(path)
	if err != nil {
		return found
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			found[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return found
}

// Libraries are the versions of those that take part, as they are linked.
func Libraries() string {
	taking := map[string]string{
		"github.com/maypok86/otter/v2":     "otter",
		"github.com/hashicorp/go-plugin":   "go-plugin",
		"google.golang.org/grpc":           "grpc",
		"github.com/redis/go-redis/v9":     "go-redis",
		"github.com/bradfitz/gomemcache":   "gomemcache",
		"github.com/jackc/pgx/v5":          "pgx",
		"github.com/eko/gocache/lib/v4":    "eko/gocache",
		"github.com/bsm/redislock":         "bsm/redislock",
		"github.com/go-redsync/redsync/v4": "redsync",
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	var versions []string
	for _, module := range info.Deps {
		if name := taking[module.Path]; name != "" {
			versions = append(versions, name+" "+strings.TrimPrefix(module.Version, "v"))
		}
	}
	return strings.Join(versions, ", ")
}
