package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// pollInterval is how often a component that cannot be watched yet is asked whether it serves.
const pollInterval = 20 * time.Millisecond

// client speaks HTTPS to a component with a client certificate.
func client(ca *authority, files pair) (*http.Client, error) {
	config, err := tlsConfig(ca, files)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}, nil
}

// tlsConfig shows a client certificate, and trusts the authority alone.
func tlsConfig(ca *authority, files pair) (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(files.certPath, files.keyPath)
	if err != nil {
		return nil, fmt.Errorf("loading the client certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// untilServing asks url until it answers 200, the context ends, or the child does.
func untilServing(ctx context.Context, c *child, requests *http.Client, url string) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	last := "no answer yet"
	for {
		if status, err := get(ctx, requests, url); err != nil {
			last = err.Error()
		} else if status == http.StatusOK {
			return nil
		} else {
			last = fmt.Sprintf("status %d", status)
		}
		select {
		case <-c.ended:
			return c.death()
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready in time (%s: %s), and the cluster cannot be used before; "+
				"see whether the machine is overloaded, and the end of its log:\n%s", c.name, url, last, c.logTail())
		case <-ticker.C:
		}
	}
}

func get(ctx context.Context, requests *http.Client, url string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := requests.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// untilServiceAccount watches for the service account "default" of a namespace. The controller manager makes the account;
// before it exists, no pod is admitted there.
func untilServiceAccount(ctx context.Context, requests *http.Client, server, namespace string) error {
	url := server + "/api/v1/namespaces/" + namespace + "/serviceaccounts?watch=true&fieldSelector=metadata.name%3Ddefault"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := requests.Do(request)
	if err != nil {
		return fmt.Errorf("watching for the default service account: %w", err)
	}
	defer response.Body.Close()
	var event struct{ Type string }
	if err := json.NewDecoder(response.Body).Decode(&event); err != nil || event.Type != "ADDED" {
		return fmt.Errorf("no default service account came (event %q, %v), and no pod is admitted without; "+
			"read kube-controller-manager.log", event.Type, err)
	}
	return nil
}
