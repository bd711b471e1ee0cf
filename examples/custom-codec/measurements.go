package main

import (
	"encoding/json"
	"log"
	"net/http"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

const (
	lifetime = 10 * time.Minute
	maxBody  = 1 << 20
)

// Measurements serves the series of a cache.
type Measurements struct {
	series cache.Typed[Series]
}

func routes(caches cache.ICacheManager) http.Handler {
	m := &Measurements{cache.Of[Series](caches)}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /series/{name}", m.Put)
	mux.HandleFunc("GET /series/{name}", m.Get)
	return mux
}

// Put stores the numbers of the body.
func (m *Measurements) Put(w http.ResponseWriter, r *http.Request) {
	var numbers Series
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&numbers); err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": "the body is no list of numbers"})
		return
	}
	if err := m.series.Set(r.Context(), r.PathValue("name"), numbers, lifetime); err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"count": len(numbers)})
}

// Get answers with the number of measurements and their mean.
func (m *Measurements) Get(w http.ResponseWriter, r *http.Request) {
	numbers, found, err := m.series.Get(r.Context(), r.PathValue("name"))
	switch {
	case err != nil:
		fail(w, err)
	case !found:
		answer(w, http.StatusNotFound, map[string]any{"error": "there is no such series"})
	default:
		answer(w, http.StatusOK, map[string]any{"count": len(numbers), "mean": mean(numbers)})
	}
}

func mean(numbers Series) float64 {
	sum := 0.0
	for _, number := range numbers {
		sum += number
	}
	return sum / max(1, float64(len(numbers)))
}

func fail(w http.ResponseWriter, err error) {
	log.Print(err)
	answer(w, http.StatusInternalServerError, map[string]any{"error": "the series can't be reached"})
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
