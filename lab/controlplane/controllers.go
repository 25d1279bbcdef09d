package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"
)

const controllerManager = "kube-controller-manager"

// controllers are the controller manager's.
type controllers struct {
	children *family
	running  *child
	start    func() (*child, error)
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
	started, err := c.start()
	if err != nil {
		return err
	}
	c.running = started
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
