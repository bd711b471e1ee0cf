package family

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestProcessorTimeAndMemoryOfChildrenCount(t *testing.T) {
	busy := exec.Command("/bin/sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { busy.Process.Kill(); busy.Wait() }()
	all := Of()
	if !slices.Contains(all, busy.Process.Pid) {
		t.Fatal("the child is not among the family")
	}
	child := Family{busy.Process.Pid}
	for limit := time.Now().Add(30 * time.Second); child.CPU() < 10*time.Millisecond; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("a busy child's processor time doesn't grow")
		}
	}
	if child.Memory() == 0 || all.Children().Memory() < child.Memory() {
		t.Error("the child has no memory")
	}
	if all.CPU() < child.CPU() {
		t.Error("the family has spent less than one of it")
	}
}
