package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

const controllerManager = "kube-controller-manager"

// probe is the namespace that tells whether the controllers work. A renewal takes it away with the rest.
const probe = "renewed"

// controllers are the controller manager's, which remember what they did and saw: writes that are to be seen yet, objects by
// their names, when to try again. Those of one lab must not go by what was in another, where all names are the same.
type controllers struct {
	children *family
	running  *child
	start    func() (*child, error)
	requests *http.Client
	server   string
}

// end has nobody react to what comes.
func (c *controllers) end() {
	c.children.retire(c.running)
}

// follow starts others.
func (c *controllers) follow() error {
	started, err := c.start()
	if err != nil {
		return err
	}
	c.running = started
	return nil
}

// collects is what the controller manager says once its garbage collector knows every kind that there is (kubernetes,
// pkg/controller/garbagecollector/garbagecollector.go). It is the last of its controllers to work.
const collects = "Proceeding to collect garbage"

// handOver has others follow while the running ones still work: their start takes a second, in which a cluster would do nothing.
func (c *controllers) handOver(ctx context.Context) error {
	former := c.running
	kept := former.logPath + ".former"
	if err := os.Rename(former.logPath, kept); err != nil {
		return fmt.Errorf("keeping the log of the controllers that others follow: %w", err)
	}
	former.logPath = kept
	if err := c.follow(); err != nil {
		return err
	}
	if err := untilLogged(ctx, c.running, collects); err != nil {
		return err
	}
	c.children.retire(former)
	return nil
}

// untilLogged waits until a child has written a text to its log.
func untilLogged(ctx context.Context, c *child, text string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if content, err := os.ReadFile(c.logPath); err == nil && bytes.Contains(content, []byte(text)) {
			return nil
		}
		select {
		case <-c.ended:
			return c.death()
		case <-ctx.Done():
			return fmt.Errorf("%s did not say %q in time, and nobody else works; see the end of its log:\n%s", c.name, text, c.logTail())
		case <-ticker.C:
		}
	}
}

// begin starts others, and returns once they work: a namespace that is made has its service account.
func (c *controllers) begin(ctx context.Context) error {
	if err := c.follow(); err != nil {
		return err
	}
	body := strings.NewReader(`{"metadata":{"name":"` + probe + `"}}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server+"/api/v1/namespaces", body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.requests.Do(request)
	if err != nil {
		return fmt.Errorf("making a namespace for the new controllers: %w", err)
	}
	answer.Body.Close() //nolint:errcheck
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("making a namespace for the new controllers: status %d", answer.StatusCode)
	}
	return untilServiceAccount(ctx, c.requests, c.server, probe)
}
