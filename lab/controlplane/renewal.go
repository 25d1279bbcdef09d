package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// registry is where the API server keeps its objects (kubernetes/apiserver, --etcd-prefix).
	registry = "/registry/"
	// ownLeases are what the API server renews of itself all the time; no lab has work there.
	ownLeases = registry + "leases/kube-system/"
	// events go with the rest, but tell of it afterwards: what a controller writes about a node that is gone keeps nobody waiting.
	events = registry + "events/"
	// quietTime is how long nothing may change before the objects count as those of an unused control plane: its controllers
	// make what they need, service accounts first, as they start, and answer what goes within moments.
	quietTime = 400 * time.Millisecond
	// quietLimit bounds the wait for that.
	quietLimit = 30 * time.Second
	// operations is what goes into one transaction; etcd takes 128 (etcd, --max-txn-ops).
	operations = 100
)

// renewed is the line on standard output after a renewal: how many objects had come, and how many had changed or gone.
type renewed struct {
	Removed  int `json:"removed"`
	Restored int `json:"restored"`
}

// renewal gives the control plane back as it was when nobody had used it.
//
// It works in etcd, below the API: finalizers, grace periods and an order in which things are taken apart are for objects
// that somebody still looks after, and whoever looked after these is gone.
type renewal struct {
	etcd *clientv3.Client
	// first is every object of the unused control plane, by key.
	first       map[string][]byte
	controllers *controllers
}

// newRenewal remembers the objects of a control plane that nobody uses yet, once its controllers have made theirs.
func newRenewal(ctx context.Context, c *cluster, controllers *controllers) (*renewal, error) {
	tls, err := tlsConfig(c.etcdCA, c.etcd)
	if err != nil {
		return nil, err
	}
	etcd, err := clientv3.New(clientv3.Config{
		Endpoints: []string{fmt.Sprintf("https://%s:%d", loopback, c.etcdPort)},
		TLS:       tls,
	})
	if err != nil {
		return nil, fmt.Errorf("reaching etcd to remember what it holds: %w", err)
	}
	r := &renewal{etcd: etcd, controllers: controllers}
	err = r.untilQuiet(ctx, func() (bool, error) {
		now, err := r.objects(ctx)
		if err != nil {
			return false, fmt.Errorf("looking at what etcd holds: %w", err)
		}
		same := len(changes(r.first, now)) == 0
		r.first = now
		return same, nil
	})
	return r, err
}

// renew removes what came and restores what changed or went, with no controller there to answer; others come then, and what they
// make as they start goes as well, until nothing of that happens any more.
func (r *renewal) renew(ctx context.Context) (renewed, error) {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	var done renewed
	r.controllers.end()
	for {
		todo, err := r.putBack(ctx)
		if err != nil {
			return done, err
		}
		if len(todo) == 0 {
			break
		}
		for _, key := range todo {
			if _, stays := r.first[key]; stays {
				done.Restored++
			} else {
				done.Removed++
			}
		}
	}
	if err := r.controllers.begin(ctx); err != nil {
		return done, err
	}
	return done, r.untilQuiet(ctx, func() (bool, error) {
		todo, err := r.putBack(ctx)
		return len(todo) == 0, err
	})
}

// putBack makes every object what it was first; gives the keys of those that were not, without events.
func (r *renewal) putBack(ctx context.Context) ([]string, error) {
	now, err := r.objects(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking at what etcd holds: %w", err)
	}
	todo := changes(now, r.first)
	telling := slices.DeleteFunc(slices.Clone(todo), func(key string) bool { return strings.HasPrefix(key, events) })
	return telling, r.put(ctx, todo)
}

// untilQuiet looks at all objects, quietTime apart, until two looks in a row are as wanted.
func (r *renewal) untilQuiet(ctx context.Context, quietNow func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for row := 0; ; {
		quiet, err := quietNow()
		if err != nil {
			return err
		}
		if row++; !quiet {
			row = 0
		}
		if row == 2 {
			return nil
		}
		select {
		case <-time.After(quietTime):
		case <-ctx.Done():
			return errors.New("objects of the cluster still changed after " + quietLimit.String() + ", so nobody can tell which are whose")
		}
	}
}

// objects is everything that the API server keeps, but for what it renews of itself.
func (r *renewal) objects(ctx context.Context) (map[string][]byte, error) {
	answer, err := r.etcd.Get(ctx, registry, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	all := make(map[string][]byte, len(answer.Kvs))
	for _, object := range answer.Kvs {
		if key := string(object.Key); !strings.HasPrefix(key, ownLeases) {
			all[key] = object.Value
		}
	}
	return all, nil
}

// changes are the keys that one has and the other has not, or with another value.
func changes(one, other map[string][]byte) []string {
	var keys []string
	for key, value := range one {
		if same, there := other[key]; !there || !bytes.Equal(value, same) {
			keys = append(keys, key)
		}
	}
	for key := range other {
		if _, there := one[key]; !there {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// put gives these keys their first values, and removes those that had none.
func (r *renewal) put(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, operations) {
		var all []clientv3.Op
		for _, key := range some {
			if value, stays := r.first[key]; stays {
				all = append(all, clientv3.OpPut(key, string(value)))
			} else {
				all = append(all, clientv3.OpDelete(key))
			}
		}
		if _, err := r.etcd.Txn(ctx).Then(all...).Commit(); err != nil {
			return fmt.Errorf("putting the objects of the unused control plane back: %w", err)
		}
	}
	return nil
}

// untilParentGone returns once standard input closes: the owner stopped us, or is gone itself. Until then every line of it is a word
// for us, one at a time.
func untilParentGone(asked chan<- string) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		asked <- lines.Text()
	}
}
