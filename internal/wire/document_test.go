package wire

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

// canonical is how gRPC spells a status in other languages.
func canonical(code codes.Code) string {
	if code == codes.Canceled {
		return "CANCELLED"
	}
	return strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(code.String(), "${1}_$2"))
}

func TestTheDocumentOfTheProtocolIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	document := string(text)
	expect := func(what string) {
		if !strings.Contains(document, what) {
			t.Errorf("docs/protocol.md does not say %q", what)
		}
	}
	for _, row := range table {
		expect(fmt.Sprintf("| `%s` | %s |", row.name, canonical(row.status)))
	}
	expect(fmt.Sprintf("| `other` | %s |", canonical(Encode(fmt.Errorf("x")).Status())))
	for _, method := range driverpb.Driver_ServiceDesc.Methods {
		expect("`" + method.MethodName + "`")
	}
	for _, word := range []string{CookieKey, CookieValue, "`" + ErrorTrailer + "`", "`" + ProblemsTrailer + "`", "`" + StdinGreeting + "NONCE`"} {
		expect(word)
	}
}

func TestTheDocumentListsErrorsInTheOrderOfTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, name := range ErrorNames() {
		at := strings.Index(string(text), "| `"+name+"` |")
		if at < last {
			t.Errorf("%s is out of order", name)
		}
		last = at
	}
}
