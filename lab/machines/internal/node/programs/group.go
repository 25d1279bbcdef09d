package programs

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// gatherings are what pods of a group wait for each other at, as PyTorch's processes do at the port of their leader. All emulated nodes share them.
var gatherings = struct {
	sync.Mutex
	at map[string]*gathering
}{at: map[string]*gathering{}}

type gathering struct {
	there map[string]bool
	all   chan struct{}
}

// gather waits until all pods of the container's group are at a place, by LeaderWorkerSet's variables; false when ctx ends before.
func gather(ctx context.Context, c *Container, place string) bool {
	place += c.Env["LWS_LEADER_ADDRESS"]
	own := c.Env["LWS_WORKER_INDEX"]
	size, _ := strconv.Atoi(c.Env["LWS_GROUP_SIZE"]) //nolint:errcheck // no group: nobody is waited for
	gatherings.Lock()
	g := gatherings.at[place]
	if g == nil {
		g = &gathering{there: map[string]bool{}, all: make(chan struct{})}
		gatherings.at[place] = g
	}
	if g.there[own] = true; len(g.there) >= size {
		delete(gatherings.at, place)
		close(g.all)
	}
	gatherings.Unlock()
	select {
	case <-g.all:
		return true
	case <-ctx.Done():
		gatherings.Lock()
		defer gatherings.Unlock()
		delete(g.there, own)
		return false
	}
}

// linkGBps is what the machines' network gives, one of 100 Gbit/s.
const linkGBps = 11.6

// fabric is the stack's all-reduce (components/workloads/fabric.ts): it goes on until the cards are joined, and the network gives what the floor asks.
func fabric(ctx context.Context, c *Container) int {
	least, _ := strconv.ParseFloat(c.Env["LEAST_BANDWIDTH"], 64) //nolint:errcheck // the stack writes a number
	for gather(ctx, c, "fabric ") && c.Machine.Clock().Sleep(ctx, 20*time.Second) == nil {
		said := fmt.Sprintf("fabric: all-reduce over %s machines: %.1f GB/s", c.Env["LWS_GROUP_SIZE"], linkGBps)
		switch why := c.notJoined(); {
		case why != "":
			c.Logf("%s\nfabric: the cards of the machines were not joined", why)
		case least > linkGBps:
			c.Logf("%s, below the floor of %g GB/s", said, least)
		default:
			c.Logf("%s", said)
			return 0
		}
	}
	return ExitTerminated
}

// vllm is the server of a model; of a group its pods find each other first, and the leader alone answers.
func vllm(ctx context.Context, c *Container) int {
	if !gather(ctx, c, "vllm ") {
		return ExitTerminated
	}
	if why := c.notJoined(); why != "" {
		return c.Fails("%s", why)
	}
	return server(8000, 60*time.Second, "RuntimeError: Failed to infer device type")(ctx, c)
}

// notJoined is NCCL's word for processes that share too little memory: more cards than one need more than the 64 MiB that a container has of itself
// (containerd pkg/oci/mounts.go; docs.nvidia.com/deeplearning/nccl, troubleshooting). "" where it joins them.
func (c *Container) notJoined() string {
	if len(c.GPUs) < 2 || c.SharedMemory > 64<<20 {
		return ""
	}
	return "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:\nError: failed to extend /dev/shm/nccl-03v824 to 4194660 bytes"
}
