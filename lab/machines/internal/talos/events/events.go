// Package events is a machine's event stream, as talosctl follows it (talos v1.13.0 internal/app/machined/pkg/runtime).
package events

import (
	"context"
	"fmt"
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Stream keeps the last events of one boot and hands new ones to who watches.
type Stream struct {
	mu       sync.Mutex
	events   []*machine.Event
	first    int // number of events[0]
	watchers map[chan struct{}]struct{}
}

// capacity is how many events a machine remembers (talos v1.13.0 v1alpha1_events.go: 1000 with a margin).
const capacity = 1000

// NewStream makes an empty stream.
func NewStream() *Stream {
	return &Stream{watchers: map[chan struct{}]struct{}{}}
}

// Encode makes the event of a payload; nil is the empty event that says hello.
func Encode(id, actor string, payload proto.Message) (*machine.Event, error) {
	event := &machine.Event{Id: id, ActorId: actor, Data: &anypb.Any{}}

	if payload != nil {
		value, err := proto.Marshal(payload)
		if err != nil {
			return nil, err
		}

		event.Data = &anypb.Any{TypeUrl: fmt.Sprintf("talos/runtime/%s", payload.ProtoReflect().Descriptor().FullName()), Value: value}
	}

	return event, nil
}

// Publish adds an event of an actor ("" for the machine's own doing).
func (s *Stream) Publish(actor string, payload proto.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()

	event, err := Encode(fmt.Sprintf("%020d", s.first+len(s.events)), actor, payload)
	if err != nil {
		return // a payload of ours that can't be encoded: nothing to tell
	}

	s.events = append(s.events, event)
	if len(s.events) > capacity {
		s.first += len(s.events) - capacity
		s.events = s.events[len(s.events)-capacity:]
	}

	for watcher := range s.watchers {
		select {
		case watcher <- struct{}{}:
		default:
		}
	}
}

// Watch sends the last tail events (all of them when negative) and then the new ones, until ctx ends or send fails.
func (s *Stream) Watch(ctx context.Context, tail int, send func(*machine.Event) error) error {
	signal := make(chan struct{}, 1)

	s.mu.Lock()
	s.watchers[signal] = struct{}{}

	next := s.first + len(s.events)
	if tail < 0 {
		next = s.first
	} else {
		next = max(s.first, next-tail)
	}
	s.mu.Unlock()

	defer func() {
		s.mu.Lock()
		delete(s.watchers, signal)
		s.mu.Unlock()
	}()

	for {
		s.mu.Lock()
		next = max(next, s.first)
		batch := append([]*machine.Event(nil), s.events[next-s.first:]...)
		next += len(batch)
		s.mu.Unlock()

		for _, event := range batch {
			if err := send(event); err != nil {
				return err
			}
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-signal:
		}
	}
}
