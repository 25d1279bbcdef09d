package main

import "slices"

// family is the children that run, and word of the first to die.
type family struct {
	members []*child
	// died receives every member that ends before it is stopped. It has room for all of them.
	died chan *child
}

// start starts a component and reports its death, whenever that comes.
func (f *family) start(logs, name string, flags []string) (*child, error) {
	started, err := startChild(logs, name, flags)
	if err != nil {
		return nil, err
	}
	f.watch(started)
	return started, nil
}

func (f *family) watch(member *child) {
	f.members = append(f.members, member)
	go func() {
		<-member.ended
		if !member.retired.Load() {
			f.died <- member
		}
	}()
}

// retire ends a member that another one follows; its end is nobody's death.
func (f *family) retire(member *child) {
	member.retired.Store(true)
	member.stop()
	f.members = slices.DeleteFunc(f.members, func(one *child) bool { return one == member })
}

// startOnPorts starts a component on ports that were free a moment ago, and anew on others when one was taken since.
func (f *family) startOnPorts(logs, name string, flags func() []string, ports []*int, ready func(*child) error) error {
	for attempt := 1; ; attempt++ {
		if err := freePorts(ports...); err != nil {
			return err
		}
		started, err := startChild(logs, name, flags())
		if err != nil {
			return err
		}
		err = ready(started)
		if err == nil {
			f.watch(started)
			return nil
		}
		taken := started.portTaken()
		started.stop()
		if !taken || attempt == portAttempts {
			return err
		}
	}
}

// unlessDead waits for something that needs every member, and gives up when one dies meanwhile.
func (f *family) unlessDead(wait func() error) error {
	done := make(chan error, 1)
	go func() { done <- wait() }()
	select {
	case err := <-done:
		return err
	case dead := <-f.died:
		return dead.death()
	}
}

// stop ends every member, the last started first, so that none sees its server go.
func (f *family) stop() {
	for _, member := range slices.Backward(f.members) {
		member.stop()
	}
}
