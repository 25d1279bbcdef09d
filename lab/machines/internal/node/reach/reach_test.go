package reach

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

func TestConnect(t *testing.T) {
	kubelet, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer kubelet.Close()
	go func() {
		for {
			connection, err := kubelet.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(connection, "the kubelet")
			_ = connection.Close()
		}
	}()
	port := kubelet.Addr().(*net.TCPAddr).Port
	table := &Table{}
	table.Put("192.0.2.10", "127.0.0.1")
	table.Put("192.0.2.11", "")
	socket := filepath.Join(t.TempDir(), "s")
	go func() { _ = table.Serve(t.Context(), socket) }()
	for _, test := range []struct {
		name, address, said string
		status              int
	}{
		{"a machine's kubelet", "192.0.2.10", "the kubelet", http.StatusOK},
		{"a machine whose kubelet does not run", "192.0.2.11", "192.0.2.11: no kubelet runs there\n", http.StatusBadGateway},
		{"an address of no machine", "127.0.0.1", "the kubelet", http.StatusOK},
	} {
		t.Run(test.name, func(t *testing.T) {
			var client net.Conn
			for range 100 {
				if client, err = net.Dial("unix", socket); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			fmt.Fprintf(client, "CONNECT %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", net.JoinHostPort(test.address, fmt.Sprint(port)))
			reader := bufio.NewReader(client)
			answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
			if err != nil {
				t.Fatal(err)
			}
			body := io.Reader(reader)
			if answer.StatusCode != http.StatusOK {
				body = io.LimitReader(reader, answer.ContentLength)
			}
			said, _ := io.ReadAll(body)
			if answer.StatusCode != test.status || string(said) != test.said {
				t.Errorf("%d %q, want %d %q", answer.StatusCode, said, test.status, test.said)
			}
		})
	}
}
