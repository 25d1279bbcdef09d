package nfd

import (
	"maps"
	"sync"
)

// features are what workers found on nodes: NFD's NodeFeature objects, without the API (their CRD belongs to NFD's chart).
type features struct {
	mutex   sync.Mutex
	found   map[string]map[string]map[string]string // node, source, labels
	changed chan struct{}
}

func newFeatures() *features {
	return &features{found: map[string]map[string]map[string]string{}, changed: make(chan struct{}, 1)}
}

// put replaces what a source found on a node.
func (f *features) put(node, source string, labels map[string]string) {
	f.mutex.Lock()
	if f.found[node] == nil {
		f.found[node] = map[string]map[string]string{}
	}
	same := maps.Equal(f.found[node][source], labels)
	f.found[node][source] = labels
	f.mutex.Unlock()
	if !same {
		f.wake()
	}
}

func (f *features) wake() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// labels of every node, all sources together.
func (f *features) labels() map[string]map[string]string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	nodes := map[string]map[string]string{}
	for node, sources := range f.found {
		nodes[node] = map[string]string{}
		for _, labels := range sources {
			maps.Copy(nodes[node], labels)
		}
	}
	return nodes
}
