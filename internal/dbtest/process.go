package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// starter runs functions on one thread that lives as long as the process. The
// kernel sends a child its parent-death signal when the *thread* that made it
// ends, so a thread that may come and go must not start servers.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// StartBound starts cmd in a process group of its own, so that a Ctrl-C at the
// terminal does not reach it, and has the kernel send it the signal onDeath
// when this process dies, however it dies.
func StartBound(cmd *exec.Cmd, onDeath syscall.Signal) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = onDeath
	done := make(chan error, 1)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}

// account is whom servers run as: PostgreSQL refuses root.
type account struct {
	uid, gid int
	name     string
	switched bool // we are root and become somebody else
}

var servant = sync.OnceValues(func() (account, error) {
	if os.Getuid() != 0 {
		me := account{uid: os.Getuid(), gid: os.Getgid(), name: "postgres"}
		if u, err := user.Current(); err == nil {
			me.name = u.Username
		}
		return me, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil {
			return account{uid: uid, gid: gid, name: name, switched: true}, nil
		}
	}
	return account{}, fmt.Errorf("running as root and found neither user postgres nor nobody to run a server as")
})

func (a account) apply(cmd *exec.Cmd) {
	if a.switched {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
	}
}

// own hands a file or folder to the account.
func (a account) own(path string) error {
	if !a.switched {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}
