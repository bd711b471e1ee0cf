//go:build unix

package host

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// badDrivers are programs that a host may meet. Each ends by itself sooner or
// later, in case its host fails to end it.
var badDrivers = map[string]func(){
	"exits at once": func() {
		fmt.Fprintln(os.Stderr, "the license file is missing")
		os.Exit(3)
	},
	"panics": func() { panic("no configuration") },
	"prints garbage and waits": func() {
		fmt.Println("Welcome to ACME!\nusage: acme [flags]")
		linger()
	},
	"prints garbage and ends": func() {
		fmt.Print("Welcome to ACME!")
		os.Exit(0)
	},
	"says nothing": linger,
	"closes its stdout and waits": func() {
		os.Stdout.Close()
		linger()
	},
	"is noisy": func() {
		fmt.Println("hello")
		fmt.Println(strings.Repeat("x", 100<<10))
		fmt.Println()
		fmt.Print("half a line ")
		sdk.Serve(testDriver)
	},
	"prints for ever": func() {
		fd, err := syscall.Dup(1)
		exitOn(err)
		stdout := os.NewFile(uintptr(fd), "stdout")
		go func() {
			fmt.Fprintln(stdout, "ACME is starting")
			for err == nil { // without ever ending a line, until nobody listens
				_, err = stdout.WriteString(strings.Repeat("x", 4<<10))
				time.Sleep(time.Millisecond)
			}
		}()
		sdk.Serve(testDriver)
	},
	"logs a bomb": func() {
		fmt.Fprintln(os.Stderr, `{"@message":42,"@level":[],"@timestamp":{}}`)
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 1<<20))
		fmt.Fprintln(os.Stderr, `{"@level":"warn","@message":"a real one","k":"v"}`)
		sdk.Serve(testDriver)
	},
	"has no certificate": func() { handshake("1|1", listen(), "") },
	"has a foreign certificate": func() {
		id, err := newIdentity()
		exitOn(err)
		handshake("1|1", listen(), base64.RawStdEncoding.EncodeToString(id.config.Certificates[0].Certificate[0]))
	},
	"answers with another certificate": func() {
		address, _ := serveOther(func(any, grpc.ServerStream) error { return nil })
		handshake("1|1", address, certificate())
	},
	"never answers Describe": func() {
		address, own := serveOther(func(any, grpc.ServerStream) error { select {} })
		handshake("1|1", address, own)
	},
	"serves something else": func() {
		address, own := serveOther(func(any, grpc.ServerStream) error {
			return status.Error(codes.Unimplemented, "unknown service")
		})
		handshake("1|1", address, own)
	},
	"speaks another version":  func() { handshake("1|99", listen(), "") },
	"speaks another protocol": func() { handshake("7|1", listen(), "") },
	"has a mangled certificate": func() {
		handshake("1|1", listen(), strings.Repeat("!", 100))
	},
	"listens nowhere": func() { handshake("1|1", filepath.Join(os.TempDir(), "nowhere"), certificate()) },
	"ends after the handshake": func() {
		fmt.Printf("1|1|unix|%s|grpc|%s\n", listen(), certificate())
		fmt.Fprintln(os.Stderr, "that was it")
		os.Exit(4)
	},
	"freezes after the handshake": func() {
		fmt.Printf("1|1|unix|%s|grpc|%s\n", listen(), certificate())
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		linger()
	},
	"accepts and never answers": func() { handshake("1|1", listen(), certificate()) },
	"does not know its nonce": func() {
		r, w, err := os.Pipe()
		exitOn(err)
		fmt.Fprint(w, wire.StdinLine("guessed"))
		os.Stdin = r
		defer runtime.KeepAlive(w) // collected, it would be closed
		sdk.Serve(testDriver)
	},
}

func linger() {
	time.Sleep(time.Minute)
	os.Exit(0)
}

// listen opens a socket that takes connections and says nothing.
func listen() string {
	l, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
	exitOn(err)
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	return l.Addr().String()
}

// serveOther serves gRPC with a certificate of its own, and answers every call
// in one way.
func serveOther(answer grpc.StreamHandler) (address, certificate string) {
	id, err := newIdentity()
	exitOn(err)
	l, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
	exitOn(err)
	own := credentials.NewTLS(&tls.Config{Certificates: id.config.Certificates})
	go grpc.NewServer(grpc.Creds(own), grpc.UnknownServiceHandler(answer)).Serve(l)
	return l.Addr().String(), base64.RawStdEncoding.EncodeToString(id.config.Certificates[0].Certificate[0])
}

func handshake(versions, address, certificate string) {
	fmt.Printf("%s|unix|%s|grpc|%s\n", versions, address, certificate)
	linger()
}

func certificate() string {
	id, err := newIdentity()
	exitOn(err)
	return base64.RawStdEncoding.EncodeToString(id.config.Certificates[0].Certificate[0])
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// badInit is a host program whose packages do things while they initialise
// that a built-in driver can't bear.
func badInit() {
	switch os.Getenv("HOST_TEST_BAD_INIT") {
	case "exits":
		fmt.Fprintln(os.Stderr, "APP_TOKEN is not set")
		os.Exit(2)
	case "opens the cache":
		d := New(Spec{Name: "testmem", Builtin: true})
		_, err := d.Describe(context.Background())
		fmt.Fprintln(os.Stderr, err)
		os.Exit(5)
	}
}
