package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"

	cache "github.com/cachewright/cachewright/core"
)

// An Action answers with the summary that its service keeps.
type Action struct {
	Summary *CachedSummary
	Resolve func(context.Context) (Summary, error)
}

func routes(summary *CachedSummary, resolve func(context.Context) (Summary, error)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", &Action{summary, resolve})
	return mux
}

func (a *Action) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	summary, err := a.Summary.Get(r.Context(), a.Resolve)
	switch {
	case errors.Is(err, cache.ErrLockTimeout):
		answer(w, http.StatusServiceUnavailable, map[string]any{"error": "the summary is being made"})
	case err != nil:
		log.Print(err)
		answer(w, http.StatusInternalServerError, map[string]any{"error": "there is no summary"})
	default:
		answer(w, http.StatusOK, summary)
	}
}

// ordersIn resolves the summary of a file of orders.
func ordersIn(path string) func(context.Context) (Summary, error) {
	return func(context.Context) (Summary, error) {
		file, err := os.Open(path)
		if err != nil {
			return Summary{}, err
		}
		defer file.Close()
		lines, err := csv.NewReader(file).ReadAll()
		if err != nil {
			return Summary{}, fmt.Errorf("%s: %w", path, err)
		}
		return add(lines)
	}
}

func add(lines [][]string) (s Summary, err error) {
	for i, line := range lines {
		amount, err := strconv.Atoi(line[len(line)-1])
		if err != nil {
			return Summary{}, fmt.Errorf("order %d has no amount", i+1)
		}
		s.Orders++
		s.Amount += amount
	}
	return s, nil
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
