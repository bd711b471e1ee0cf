package servertest

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// An account is who runs a server that refuses to be root: somebody else if
// the tests are root, and otherwise nobody in particular.
type account struct {
	credential *syscall.Credential // nil: the user of the tests
}

// humble finds an account without privileges.
func humble(t testing.TB) account {
	t.Helper()
	if os.Geteuid() != 0 {
		return account{}
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		}
	}
	t.Fatal("servertest: PostgreSQL and PgBouncer refuse to run as root, and there is no user postgres or nobody")
	return account{}
}

// run makes cmd run as the account.
func (a account) run(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}
	return cmd
}

// own gives a folder and all in it to the account.
func (a account) own(dir string) error {
	if a.credential == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(a.credential.Uid), int(a.credential.Gid))
	})
}
