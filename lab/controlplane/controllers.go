package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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
