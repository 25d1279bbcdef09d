package reach

import (
	"bufio"
	"context"
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
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the kubelet") })}
	go func() { _ = server.Serve(kubelet) }()
	t.Cleanup(func() { _ = server.Close() })
	table, socket := &Table{}, filepath.Join(t.TempDir(), "s")
	table.Put("192.0.2.10", "127.0.0.1")
	table.Put("192.0.2.11", "")
	go func() { _ = table.Serve(t.Context(), socket) }()
	dial := func(ctx context.Context, _, address string) (client net.Conn, err error) {
		for client, err = net.Dial("unix", socket); err != nil && ctx.Err() == nil; client, err = net.Dial("unix", socket) {
			time.Sleep(10 * time.Millisecond) // until the table serves
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(client, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", address)
		answer, err := http.ReadResponse(bufio.NewReader(client), &http.Request{Method: http.MethodConnect})
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%d", answer.StatusCode)
		}
		return client, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 10 * time.Second}
	// The last address belongs to no machine.
	for address, isThere := range map[string]bool{"192.0.2.10": true, "192.0.2.11": false, "127.0.0.1": true} {
		answer, err := client.Get(fmt.Sprintf("http://%s:%d/", address, kubelet.Addr().(*net.TCPAddr).Port))
		if (err == nil) != isThere {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			if text, _ := io.ReadAll(answer.Body); string(text) != "the kubelet" {
				t.Errorf("%s answers %q", address, text)
			}
		}
	}
}
