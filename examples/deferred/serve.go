package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// patience is what requests and stores get for coming to an end.
const patience = 10 * time.Second

// serve answers requests until ctx ends. The order of the end is: no new
// requests, the end of those under way, then the stores that they use.
func serve(ctx context.Context, l net.Listener, visits *Visits) error {
	server := &http.Server{Handler: routes(visits)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := server.Shutdown(ending)
	<-ended // http.ErrServerClosed
	return errors.Join(err, visits.Close(ending))
}

func routes(visits *Visits) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", visits.Count)
	mux.HandleFunc("GET /healthz", visits.Healthy)
	return mux
}
