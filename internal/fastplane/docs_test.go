package fastplane

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The document is the format's specification: what it says of numbers is so.
func TestTheDocumentHasTheFormatsNumbers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## The fast plane\n")
	wants := []string{
		fmt.Sprintf("the version of the format, `%s`", Version),
		fmt.Sprintf("%d to 65,552", headerSize-4),
		fmt.Sprintf("below %d", Slots),
		"| 1 | in a request the operation",
		fmt.Sprintf("kind: %d request, %d answer, %d more of a body, %d cancel", kindRequest, kindAnswer, kindMore, kindCancel),
		fmt.Sprintf("flags: %d marks", flagCut),
		fmt.Sprintf("A status is %d for a\ncall that failed, %d for yes", StatusFailed, StatusYes),
		fmt.Sprintf("and %d for no", StatusNo),
	}
	for op, name := range []string{
		"Get", "Set", "Delete", "Add", "Replace", "Pull", "Increment", "CompareDelete", "TTL", "Touch",
		"GetMany", "SetMany", "DeleteMany", "AcquireLease", "RenewLease", "ReleaseLease",
	} {
		wants = append(wants, fmt.Sprintf("\n| %d | %s |", op+1, name))
	}
	for _, want := range wants {
		if !strings.Contains(section, want) {
			t.Errorf("the section does not say %q", want)
		}
	}
	if maxFrame-4 != 65_552 || maxPart != 65_536 || maxBody != (64<<20)+(64<<10) {
		t.Errorf("frames have %d bytes, parts %d, bodies %d", maxFrame-4, maxPart, maxBody)
	}
	if OpGet != 1 || OpReleaseLease != 16 {
		t.Error("operations are numbered otherwise")
	}
}
