// Package logs keeps what containers write on the machine, and serves it as a kubelet does.
package logs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// folderOf is where a kubelet keeps a pod's logs.
func folderOf(rootFS, namespace, pod, uid string) string {
	return filepath.Join(rootFS, "var/log/pods", namespace+"_"+pod+"_"+uid)
}

// Serve is the one part of the kubelet's own API that is emulated: GET /containerLogs/NAMESPACE/POD/CONTAINER, with
// tailLines; not follow, whole log so far. It listens on 127.0.0.1; the API server reaches it by the package reach.
func Serve(ctx context.Context, rootFS string) (port int32, err error) {
	certificate, err := selfSigned()
	if err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("listening for log requests: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(response http.ResponseWriter, request *http.Request) {
		pattern := filepath.Join(folderOf(rootFS, request.PathValue("namespace"), request.PathValue("pod"), "*"), request.PathValue("container"), "0.log")
		files, _ := filepath.Glob(pattern)
		text, err := newest(files)
		if err != nil {
			http.Error(response, "no log of this container yet", http.StatusNotFound)
			return
		}
		if lines, err := strconv.Atoi(request.URL.Query().Get("tailLines")); err == nil {
			text = LastLines(text, lines)
		}
		response.Header().Set("Content-Type", "text/plain")
		_, _ = response.Write([]byte(text))
	})
	server := &http.Server{Handler: mux, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(listener, "", "") }()
	return int32(listener.Addr().(*net.TCPAddr).Port), nil
}

// newest reads the file that was written last.
func newest(files []string) (string, error) {
	var chosen string
	var changed time.Time
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && !info.ModTime().Before(changed) {
			chosen, changed = file, info.ModTime()
		}
	}
	text, err := os.ReadFile(chosen)
	return string(text), err
}

// LastLines of a text.
func LastLines(text string, count int) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if count < len(lines) {
		lines = lines[len(lines)-max(count, 0):]
	}
	return strings.Join(lines, "")
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
