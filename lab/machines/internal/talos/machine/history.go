package machine

import (
	"fmt"
	"log"
)

// Entry is a line of a machine's history.
type Entry struct {
	// At is when, in lab seconds.
	At   float64 `json:"at"`
	What string  `json:"what"`
}

// Event records something in the machine's history.
func (m *Machine) Event(format string, args ...any) {
	entry := Entry{At: m.env.Clock.Now(), What: fmt.Sprintf(format, args...)}
	log.Printf("%s: %s", m.spec.Name, entry.What)

	m.mu.Lock()
	defer m.mu.Unlock()

	const limit = 1000

	m.s.events = append(m.s.events, entry)
	if len(m.s.events) > limit {
		m.s.events = m.s.events[len(m.s.events)-limit:]
	}
}

// Log is the machine's history as lines, with the lab's seconds in front.
func (m *Machine) Log() []string {
	return look(m, func(s *state) []string { return linesSince(s.events, 0) })
}

// BootLog is the part of this boot: the kernel's ring buffer and machined's log are in memory, and go with it.
func (m *Machine) BootLog() []string {
	return look(m, func(s *state) []string { return linesSince(s.events, s.boot.began) })
}

func linesSince(events []Entry, began float64) []string {
	lines := make([]string, 0, len(events))

	for _, entry := range events {
		if entry.At >= began {
			lines = append(lines, fmt.Sprintf("[%10.3f] [talos] %s\n", entry.At, entry.What))
		}
	}

	return lines
}
