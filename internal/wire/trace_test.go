package wire

import (
	"context"
	"testing"

	"google.golang.org/grpc/metadata"
)

func TestATraceArrivesAsItWasSent(t *testing.T) {
	for _, want := range []Trace{
		{},
		{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1,b=x y"},
	} {
		if got := ParseTrace(want.String()); got != want {
			t.Errorf("as text: %+v, want %+v", got, want)
		}
		ctx := WithTrace(context.Background(), want)
		if got := OutgoingTrace(ctx); got != want {
			t.Errorf("outgoing: %+v, want %+v", got, want)
		}
		sent, _ := metadata.FromOutgoingContext(ctx)
		if got := IncomingTrace(metadata.NewIncomingContext(context.Background(), sent)); got != want {
			t.Errorf("over gRPC: %+v, want %+v", got, want)
		}
		if got := IncomingTrace(WithIncomingTrace(context.Background(), want)); got != want {
			t.Errorf("over another transport: %+v, want %+v", got, want)
		}
	}
}

// An application that serves gRPC itself has its callers' metadata in its
// contexts.
func TestWhatCameToTheApplicationIsNotSentOn(t *testing.T) {
	ctx := metadata.NewIncomingContext(context.Background(), metadata.Pairs(traceParent, "the caller's"))
	if got := OutgoingTrace(ctx); got != (Trace{}) {
		t.Errorf("outgoing: %+v", got)
	}
}
