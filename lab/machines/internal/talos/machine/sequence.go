package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/protobuf/proto"
)

// publish sends an event to who follows the machine's events.
func (m *Machine) publish(actor string, payload proto.Message) {
	if api := look(m, func(s *state) *server { return s.boot.api }); api != nil {
		api.events.Publish(actor, payload)
	}
}

// sequence runs one of Talos' sequences with the events that talosctl tracks (talos v1.13.0
// internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_controller.go, run).
func (m *Machine) sequence(actor, name string, steps ...func() error) error {
	m.publish(actor, &machine.SequenceEvent{Sequence: name, Action: machine.SequenceEvent_START})

	var err error

	for _, step := range steps {
		if err = step(); err != nil {
			break
		}
	}

	if err == nil {
		m.publish(actor, &machine.SequenceEvent{Sequence: name, Action: machine.SequenceEvent_STOP})

		return nil
	}

	code := common.Code_FATAL
	if errors.Is(err, context.Canceled) {
		code = common.Code_CANCELED
	}

	m.publish(actor, &machine.SequenceEvent{
		Sequence: name, Action: machine.SequenceEvent_NOOP,
		Error: &common.Error{Code: code, Message: fmt.Sprintf("sequence failed: %s", err)},
	})

	return err
}

// phase is a step of a sequence with one task.
func (m *Machine) phase(actor, name, task string, do func() error) func() error {
	return func() error {
		m.publish(actor, &machine.PhaseEvent{Phase: name, Action: machine.PhaseEvent_START})
		m.publish(actor, &machine.TaskEvent{Task: task, Action: machine.TaskEvent_START})

		err := do()

		m.publish(actor, &machine.TaskEvent{Task: task, Action: machine.TaskEvent_STOP})
		m.publish(actor, &machine.PhaseEvent{Phase: name, Action: machine.PhaseEvent_STOP})

		return err
	}
}
